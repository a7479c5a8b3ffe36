// @ts-check
// Addresses of the pages that explain the parts of Figure 1.

/** @import { Item } from "./figure1_parts.js" */
/** @import { Figure1Data, Figure1Part } from "./types" */

/** @param {Figure1Data} data @param {Item} item @param {number} step @returns {Figure1Part | undefined} */
export function partOf(data, item, step) {
  if (item.type !== "option") return item.part;
  const shown = data.options[step][item.index ?? 0];
  if (!shown) return undefined;
  const text = shown.spans.map(([each]) => each).join("");
  const name = `${text}, ${shown.probability}`;
  return { link: shown.predicted ? "predicted" : "other", name, values: { piece: shown.token } };
}

/**
 * The address of the page that explains a part, for the chosen tokens.
 * @param {Figure1Data} data
 * @param {Figure1Part | undefined} part
 * @param {number} step
 * @param {number} source -1: no token of the source is chosen.
 * @returns {string} "" if there is none.
 */
export function addressOf(data, part, step, source) {
  const template = part && data.links?.[part.link];
  if (!template) return "";
  const { kind, stack } = part.values ?? {};
  const isEncoder = stack === "encoder" || kind === "encoder_self";
  const token = isEncoder ? data.tokens?.source[source] : data.tokens?.target[step];
  const values = { ...token, ...part.values };
  const filled = template.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(values[name] ?? ""));
  return filled.replace(/[?&][^=&?]+=(?=&|$)/g, (each) => (each.startsWith("?") ? "?" : "")).replace("?&", "?");
}
