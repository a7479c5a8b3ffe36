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
  const values = { piece: shown.token, layer: data.model.decoder.layers };
  return { link: shown.predicted ? "predicted" : "other", name, values };
}

/** @param {Figure1Part | undefined} part */
export function isInEncoder(part) {
  return part?.values?.stack === "encoder" || part?.values?.kind === "encoder_self";
}

/**
 * The address of the page that explains a part, for the chosen tokens.
 * @param {Figure1Data} data
 * @param {Figure1Part | undefined} part
 * @param {number} step
 * @param {number} source -1: no token of the source is chosen.
 * @param {string} [link] Of several that the part has.
 * @returns {string} "" if there is none.
 */
export function addressOf(data, part, step, source, link = part?.link ?? "") {
  const template = data.links?.[link] ?? data.links?.step;
  if (!template || !part) return "";
  const isEncoder = isInEncoder(part);
  const token = isEncoder ? data.tokens?.source[source] : data.tokens?.target[step];
  /** @type {Record<string, string | number>} */
  const values = { stack: isEncoder ? "encoder" : "decoder", layer: 1, head: 1, ...token, ...part?.values };
  const named = template.replace("{step}", String(values.step ?? data.code.parts[part?.link ?? ""]?.steps[0]));
  const filled = named.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(values[name] ?? ""));
  return filled.replace(/[?&][^=&?]+=(?=&|$)/g, (each) => (each.startsWith("?") ? "?" : "")).replace("?&", "?");
}
