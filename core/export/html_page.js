// @ts-check
// The exported page: draws the explanation that is stored in the same file. It fetches nothing.

/** @import { AxisData, Drawing, Head, PerAxis, Span } from "../drawing/types" */

import { button, element, goTo, group, moveInRows, spelled } from "../drawing/dom.js";
import { drawLines } from "../drawing/lines.js";
import { drawMap } from "../drawing/map.js";
import { decodedWeights, paintWeights } from "../drawing/weights.js";

/**
 * @typedef {"Lines" | "Map" | "Table"} View
 *
 * @typedef {AxisData & {
 *   kind: string,
 *   name: string,
 *   text: string,
 *   titles: PerAxis<string>,
 *   shape: [layers: number, heads: number, rows: number, columns: number],
 *   weights: string,
 * }} KindData
 *
 * @typedef {object} Data See `payload` in html_page.py.
 * @property {string} source
 * @property {string} target
 * @property {{ spans: Span[], logProb: number, others: [text: string, logProb: number][] }[]} predicted
 * @property {KindData[]} kinds
 * @property {[kind: string, layer: number, head: number]} first
 * @property {View} view
 * @property {[name: string, value: string][]} facts
 */

/** @type {Data} */
const data = JSON.parse(byId("data").textContent ?? "");
/** @type {View[]} */
const VIEWS = ["Lines", "Map", "Table"];
/** @type {Record<View, string>} */
const HINTS = {
  Lines: "Hover a word, or move with Tab and the arrow keys, to read its weights.",
  Map: "Hover a cell or a word, or move with Tab and the arrow keys, to read the weights.",
  Table: "",
};
const MIN_WEIGHT = 0.02; // smaller weights have no line: it would not be seen

const kinds = data.kinds.map((kind) => {
  const [layers, heads, rows, columns] = kind.shape;
  return { ...kind, layers, heads, rows, columns, weights: decodedWeights(kind.weights) };
});
/** @typedef {typeof kinds[number]} AttentionKind */

/** What is shown: a kind, a layer and a head by number, and how. */
const shown = { kind: 0, layer: 0, head: 0, view: data.view };
const places = {
  text: element("p"),
  grid: group("grid", "Heads"),
  scale: element("canvas"),
  name: element("b"),
  hint: element("p", "faint hint"),
  picture: element("div", "picture"),
};
/** @type {HTMLButtonElement[][]} */
let cells = [];
/** @type {Drawing | undefined} */
let drawing;
/** @type {string[]} */
let scale = [];
/** @type {(() => void)[]} */
const pressedStates = [];

// --- the page --------------------------------------------------------------------------------------------------------

function build() {
  const title = element("h1");
  title.append(isolated(data.source), element("span", "arrow", "\u2192"), isolated(data.target));
  const note =
    "Attention weights show which tokens a head mixed, not why the model chose its words. " +
    "Layers and heads are counted from 1.";
  const controls = element("div", "controls");
  const names = kinds.map(({ name }) => name);
  controls.append(
    choice(
      "Attention",
      names,
      () => shown.kind,
      (kind) => select({ kind }),
    ),
  );
  controls.append(
    choice(
      "View",
      VIEWS,
      () => VIEWS.indexOf(shown.view),
      (index) => select({ view: VIEWS[index] }),
    ),
  );
  const overview = element("section", "overview");
  const bar = element("div", "bar");
  bar.append(element("span", "number", "0"), places.scale, element("span", "number", "1"));
  overview.append(places.text, places.grid, bar);
  const detail = element("section", "detail");
  const name = element("p");
  name.append(places.name);
  detail.append(name, places.hint, places.picture);
  const both = element("div", "both");
  both.append(overview, detail);
  places.grid.onkeydown = (event) => moveInRows(cells, event);
  byId("page").append(title, element("p", "faint", note), controls, both, tokens(), facts());
}

/**
 * @param {string} name
 * @param {string[]} labels
 * @param {() => number} current
 * @param {(index: number) => void} choose
 */
function choice(name, labels, current, choose) {
  const row = group("choice", name);
  const buttons = labels.map((label, index) => {
    const node = element("button", "", label);
    node.type = "button";
    node.onclick = () => choose(index);
    return node;
  });
  row.append(...buttons);
  pressedStates.push(() => {
    buttons.forEach((node, index) => node.setAttribute("aria-pressed", String(index === current())));
  });
  return row;
}

function tokens() {
  const section = element("section");
  const table = element("table");
  const header = ["", "token", "log-prob", "probability", "alternatives, with their probabilities"];
  table.append(
    tableRow(
      "th",
      header.map((text) => [text]),
      [0, 2, 3],
    ),
  );
  data.predicted.forEach(({ spans, logProb, others }, index) => {
    const track = element("span", "chance");
    const bar = element("i");
    bar.style.width = `${100 * Math.exp(logProb)}%`;
    track.append(bar);
    const probability = [Math.exp(logProb).toFixed(3), track];
    const listed = others.flatMap(([text, value], at) => [
      at ? ", " : "",
      isolated(text),
      ` ${Math.exp(value).toFixed(2)}`,
    ]);
    table.append(
      tableRow("td", [[String(index + 1)], spelled(spans), [logProb.toFixed(3)], probability, listed], [0, 2, 3]),
    );
  });
  section.append(element("h2", "", "Translation, token by token"), table);
  return section;
}

function facts() {
  const details = element("details");
  const table = element("table");
  for (const [name, value] of data.facts) table.append(tableRow("td", [[name], [value]]));
  details.append(element("summary", "", "Model, settings and versions"), table);
  return details;
}

// --- the selected head -----------------------------------------------------------------------------------------------

/** @param {Partial<typeof shown>} change */
function select(change) {
  Object.assign(shown, change);
  const kind = kinds[shown.kind];
  shown.layer = Math.min(shown.layer, kind.layers - 1);
  shown.head = Math.min(shown.head, kind.heads - 1);
  if ("kind" in change) drawOverview(kind);
  for (const cell of cells.flat()) {
    const on = Number(cell.dataset.row) === shown.layer && Number(cell.dataset.column) === shown.head;
    cell.setAttribute("aria-pressed", String(on));
    cell.tabIndex = on ? 0 : -1; // Tab reaches the grid, arrow keys its heads
  }
  for (const update of pressedStates) update();
  places.name.textContent = `${kind.name} attention, ${headName(shown.layer, shown.head)}`;
  places.hint.textContent = HINTS[shown.view];
  drawing?.disconnect();
  drawing = drawDetail(kind);
  history.replaceState(null, "", `#${kind.kind},${shown.layer},${shown.head},${shown.view}`);
}

/** Select the head in the address, counted from 0, so that a link to this file can name it. */
function restore() {
  const [name, layer, head, view] = decodeURIComponent(location.hash.slice(1)).split(",");
  const [firstKind, firstLayer, firstHead] = data.first;
  const named = kinds.findIndex(({ kind }) => kind === name);
  const known = named >= 0 && [layer, head].every((number) => /^\d+$/.test(number ?? ""));
  select({
    kind: known ? named : kinds.findIndex(({ kind }) => kind === firstKind),
    layer: known ? Number(layer) : firstLayer,
    head: known ? Number(head) : firstHead,
    view: VIEWS.find((each) => each === view) ?? shown.view,
  });
}

/**
 * @param {AttentionKind} kind
 * @param {number} layer
 * @param {number} head
 */
function weightsOf(kind, layer, head) {
  const size = kind.rows * kind.columns;
  const start = (layer * kind.heads + head) * size;
  return kind.weights.subarray(start, start + size);
}

/**
 * @param {number} layer
 * @param {number} head
 */
function headName(layer, head) {
  return `L${layer + 1} H${head + 1}`;
}

/** @param {AttentionKind} kind */
function drawOverview(kind) {
  places.text.replaceChildren(element("b", "", `${kind.name} attention`), `: ${kind.text}`);
  places.grid.style.gridTemplateColumns = `2.2em repeat(${kind.heads}, minmax(0, 1fr))`;
  const numbers = (/** @type {number} */ count) => [...Array(count).keys()];
  cells = numbers(kind.layers).map((layer) => numbers(kind.heads).map((head) => gridCell(kind, layer, head)));
  const names = numbers(kind.heads).map((head) => element("span", "name", `H${head + 1}`));
  const rows = cells.flatMap((row, layer) => [element("span", "name", `L${layer + 1}`), ...row]);
  places.grid.replaceChildren(element("span"), ...names, ...rows);
}

/**
 * @param {AttentionKind} kind
 * @param {number} layer
 * @param {number} head
 */
function gridCell(kind, layer, head) {
  const node = button("cell");
  node.setAttribute("aria-label", headName(layer, head));
  node.title = headName(layer, head);
  Object.assign(node.dataset, { row: layer, column: head });
  node.onclick = () => {
    select({ layer, head });
    goTo(node, []);
  };
  const canvas = element("canvas");
  paintWeights(canvas, weightsOf(kind, layer, head), kind.columns, scale);
  node.append(canvas);
  return node;
}

/** @param {AttentionKind} kind */
function drawDetail(kind) {
  const { query, key, predicted, titles } = kind;
  const axes = { query, key, predicted, titles, legend: false };
  /** @type {Head} */
  const head = {
    name: headName(shown.layer, shown.head),
    color: "var(--accent)",
    dash: "solid",
    weights: weightsOf(kind, shown.layer, shown.head),
  };
  if (shown.view === "Lines") return drawLines(places.picture, { ...axes, heads: [head], minWeight: MIN_WEIGHT });
  if (shown.view === "Map") return drawMap(places.picture, { ...axes, heads: [head], scale, low: 0 });
  places.picture.replaceChildren(matrix(kind, head.weights));
  return undefined;
}

/**
 * @param {AttentionKind} kind
 * @param {Float32Array} weights
 */
function matrix({ query, key, predicted, rows, columns }, weights) {
  const table = element("table", "matrix");
  table.append(tableRow("th", [[], ...key.map(spelled)]));
  for (let row = 0; row < rows; row++) {
    const values = [...weights.subarray(row * columns, (row + 1) * columns)].map((weight) => [weight.toFixed(3)]);
    const line = tableRow("td", values, [...values.keys()]);
    const name = element("th");
    const next = predicted?.[row];
    name.append(...spelled(query[row]), ...(next ? [element("span", "faint", " \u25b8 "), ...spelled(next)] : []));
    line.prepend(name);
    table.append(line);
  }
  return table;
}

// --- elements --------------------------------------------------------------------------------------------------------

/** @param {string} id */
function byId(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}

/**
 * Text of any direction that does not affect the text around it.
 * @param {string} text
 */
function isolated(text) {
  const span = element("bdi", "", text);
  span.dir = "auto";
  return span;
}

/**
 * @param {"td" | "th"} tag
 * @param {(Node | string)[][]} contents
 * @param {number[]} [numbers] Columns of numbers.
 */
function tableRow(tag, contents, numbers = []) {
  const line = element("tr");
  contents.forEach((content, column) => {
    const cell = element(tag, numbers.includes(column) ? "number" : "");
    cell.append(...content);
    line.append(cell);
  });
  return line;
}

/** Read the colours of the page's theme, which the style sheet sets. */
function readScale() {
  scale = getComputedStyle(document.documentElement)
    .getPropertyValue("--ramp")
    .split(",")
    .map((color) => color.trim());
  paintWeights(
    places.scale,
    Float32Array.from({ length: 180 }, (_, index) => index / 179),
    180,
    scale,
  );
}

build();
readScale();
restore();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  readScale();
  select({ kind: shown.kind });
});
