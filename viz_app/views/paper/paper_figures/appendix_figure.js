// @ts-check
// Heads as lines between two rows of words, which stand upright as in the paper's appendix unless there is room for a
// line of them. In self-attention the words that attend stand above, in cross-attention the source.

/** @import { AxisData, Head, HeadData, Span } from "../../../../core/drawing/types" */
/** @import { Component } from "../../../components/streamlit" */

import { element, group, headNames, spelled, vector } from "../../../../core/drawing/dom.js";
import { dotsNote, SMALL_WEIGHT, weightLine } from "../../../../core/drawing/line_style.js";
import { scrolling } from "../../../../core/drawing/scrolling.js";
import { decodedHead, decodedWeights, lineWeights } from "../../../../core/drawing/weights.js";
import { component } from "../../../components/renderer.js";

const GAP = 200; // pixels between the two rows
const SPREAD = 13.5; // pixels that the lines of different heads take at a word
const FEW_HEADS = 4; // spread as so many

/**
 * @typedef {AxisData & { heads: HeadData[], isCross: boolean, queries: number[], squares: string[] | null }} Panel
 * The rows whose lines are drawn, none for all; for each head, the mean weights of the columns in these rows.
 *
 * @typedef {{ name: string, minWeight: number, panels: Panel[] }} Data See `appendix_payload`.
 */

export default component((/** @type {Component<Data>} */ { data, root }) => {
  const figure = group("figure", data.name);
  const panels = data.panels.map((panel) => panelNode(panel, data.minWeight));
  figure.append(...panels.map(({ node }) => node));
  scrolling(figure);
  root.replaceChildren(figure);
  const observer = new ResizeObserver(() => {
    figure.classList.remove("upright");
    figure.classList.toggle("upright", figure.scrollWidth > figure.clientWidth);
    for (const { draw } of panels) draw();
  });
  for (const each of [figure, ...panels.map(({ node }) => node)]) observer.observe(each);
  return () => observer.disconnect();
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
  const keys = row(panel.key, () => "");
  panel.squares?.forEach((weights, place) => addSquares(keys, decodedWeights(weights), heads[place], minWeight));
  const lines = vector("svg", { height: GAP, "aria-hidden": "true" });
  node.append(names, ...(panel.isCross ? [keys, lines, queries] : [queries, lines, keys]));
  return { node, draw: () => drawLines(lines, panel.isCross, queries, keys, heads, all) };
}

/** @param {Span[][]} words @param {(index: number) => string} style */
function row(words, style) {
  const node = element("div", "words");
  node.append(
    ...words.map((spans, index) => {
      const column = element("div", "column");
      const word = element("span", `word ${style(index)}`.trim());
      word.append(...spelled(spans));
      column.append(word);
      return column;
    }),
  );
  return node;
}

/**
 * A head's square at each word, its weight as opacity.
 * @param {HTMLElement} words
 * @param {Float32Array} weights
 * @param {Head} head
 * @param {number} minWeight
 */
function addSquares({ children }, weights, { color }, minWeight) {
  weights.forEach((weight, index) => {
    const square = element("i");
    if (weight >= minWeight) Object.assign(square.style, { background: color, opacity: Math.min(1, weight) });
    children[index].lastElementChild?.before(square);
  });
}

/**
 * @param {SVGElement} svg
 * @param {boolean} isCross
 * @param {HTMLElement} queries
 * @param {HTMLElement} keys
 * @param {Head[]} heads
 * @param {{ query: number, key: number, weight: number }[][]} all Lines by head.
 */
function drawLines(svg, isCross, queries, keys, heads, all) {
  const [from, to] = [queries, keys].map((words) =>
    [...words.children].map((word) => word instanceof HTMLElement && word.offsetLeft + word.offsetWidth / 2),
  );
  const lines = heads.flatMap(({ color, dash }, place) => {
    const shift = ((place - (heads.length - 1) / 2) * SPREAD) / Math.max(heads.length, FEW_HEADS);
    return all[place].map(({ query, key, weight }) => {
      const [above, below] = isCross ? [to[key], from[query]] : [from[query], to[key]];
      return weightLine(`M${Number(above) + shift} 0L${Number(below) + shift} ${GAP}`, weight, color, dash);
    });
  });
  svg.replaceChildren(...lines);
}
