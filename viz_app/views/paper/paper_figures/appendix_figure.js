// @ts-check
// Heads as lines between two rows of upright words, as in the paper's appendix. In self-attention the words that attend
// stand above, in cross-attention the source.

/** @import { AxisData, Head, HeadData, Span } from "../../../../core/drawing/types" */
/** @import { Component } from "../../../components/streamlit" */

import { element, group, headNames, spelled, vector } from "../../../../core/drawing/dom.js";
import { dotsNote, SMALL_WEIGHT, weightLine } from "../../../../core/drawing/line_style.js";
import { scrolling } from "../../../../core/drawing/scrolling.js";
import { decodedHead, decodedWeights, lineWeights } from "../../../../core/drawing/weights.js";
import { component, rootOf } from "../../../components/renderer.js";

const [PITCH, GAP] = [27, 200]; // pixels from word to word, and between the two rows
const SPREAD = 0.5; // of the pitch that the lines of different heads take
const FEW_HEADS = 4; // spread as so many

/**
 * @typedef {AxisData & { heads: HeadData[], isCross: boolean, queries: number[], squares: string[] | null }} Panel
 * The rows whose lines are drawn, none for all; for each head, the mean weights of the columns in these rows.
 *
 * @typedef {{ name: string, minWeight: number, panels: Panel[] }} Data See `appendix_payload`.
 */

export default component((/** @type {Component<Data>} */ { data, parentElement }) => {
  const figure = group("figure", data.name);
  figure.append(...data.panels.map((panel) => panelNode(panel, data.minWeight)));
  scrolling(figure);
  rootOf(parentElement).replaceChildren(figure);
});

/** @param {Panel} panel @param {number} minWeight */
function panelNode(panel, minWeight) {
  const heads = panel.heads.map(decodedHead);
  const all = heads.map((head) =>
    lineWeights(head.weights, panel.key.length, minWeight).filter(
      ({ query }) => !panel.queries.length || panel.queries.includes(query),
    ),
  );
  const node = element("div", "panel");
  const names = headNames(heads);
  if (all.flat().some(({ weight }) => weight < SMALL_WEIGHT)) names.append(dotsNote());
  const queries = row(panel.predicted?.map((spans) => spans ?? []) ?? panel.query, (index) =>
    panel.queries.includes(index) ? "asked" : panel.queries.length ? "faint" : "",
  );
  const squares = panel.squares?.map((weights, place) => squareRow(decodedWeights(weights), heads[place], minWeight));
  const keys = [...(squares ?? []), row(panel.key, () => "")];
  if (panel.isCross) keys.reverse();
  const lines = picture(panel, heads, all);
  node.append(names, ...(panel.isCross ? [...keys, lines, queries] : [queries, lines, ...keys]));
  return node;
}

/** @param {Span[][]} words @param {(index: number) => string} style */
function row(words, style) {
  const node = element("div", "words");
  node.append(
    ...words.map((spans, index) => {
      const word = element("span", `word ${style(index)}`.trim());
      word.append(...spelled(spans));
      return word;
    }),
  );
  return node;
}

/**
 * A head's square at each word, its weight as opacity.
 * @param {Float32Array} weights
 * @param {Head} head
 * @param {number} minWeight
 */
function squareRow(weights, { color }, minWeight) {
  const node = element("div", "squares");
  for (const weight of weights) {
    const square = element("i");
    if (weight >= minWeight) Object.assign(square.style, { background: color, opacity: Math.min(1, weight) });
    node.append(square);
  }
  return node;
}

/**
 * @param {Panel} panel
 * @param {Head[]} heads
 * @param {{ query: number, key: number, weight: number }[][]} all Lines by head.
 */
function picture({ query, key, isCross }, heads, all) {
  const width = PITCH * Math.max(query.length, key.length);
  const svg = vector("svg", { width, height: GAP, "aria-hidden": "true" });
  heads.forEach(({ color, dash }, place) => {
    const shift = ((place - (heads.length - 1) / 2) * PITCH * SPREAD) / Math.max(heads.length, FEW_HEADS);
    const at = (/** @type {number} */ index) => PITCH * (index + 0.5) + shift;
    for (const { query: from, key: to, weight } of all[place]) {
      const [above, below] = isCross ? [to, from] : [from, to];
      svg.append(weightLine(`M${at(above)} 0L${at(below)} ${GAP}`, weight, color, dash));
    }
  });
  return svg;
}
