// @ts-check
// All heads of one kind of attention as a grid of small maps, and a selected head large beside it: as lines, as a map or
// as a table.

/** @import { Axis, AxisData, Drawing, HeadData, Modifiers, PerAxis } from "./types" */

import { button, element, goTo, group, moveInRows, spelled, tableRow } from "./dom.js";
import { drawLines } from "./lines.js";
import { drawMap } from "./map.js";
import { pageScale } from "./shades.js";
import { tr } from "./texts.js";
import { decodedWeights, paintWeights } from "./weights.js";

/**
 * @typedef {"Lines" | "Map" | "Table"} View
 *
 * @typedef {AxisData & {
 *   kind: string,
 *   name: string,
 *   text: string,
 *   titles: PerAxis<string>,
 *   weights: string[][],
 * }} KindData See `kinds_data` in head_explorer.py; the weights by layer and head.
 *
 * @typedef {object} Selection Counted from 0.
 * @property {string} kind
 * @property {number} layer
 * @property {number} head
 * @property {View} view
 * @property {Axis} side Axis of the selected words.
 * @property {readonly number[]} words Selected rows or columns.
 *
 * @typedef {object} State
 * @property {readonly KindData[]} kinds
 * @property {Selection} selection
 * @property {(selection: Selection) => void} onChange
 * @property {HTMLElement} root
 * @property {HTMLElement} text About the kind of attention.
 * @property {HTMLElement} grid
 * @property {HTMLElement[][]} cells
 * @property {HTMLCanvasElement} bar Of the colours.
 * @property {string[]} scale
 * @property {HTMLElement} name
 * @property {HTMLElement} hint
 * @property {HTMLElement} picture
 * @property {Drawing | undefined} drawing
 * @property {(() => void)[]} pressedStates
 */

/** @type {View[]} */
export const VIEWS = ["Lines", "Map", "Table"];
const MIN_WEIGHT = 0.02; // smaller weights have no line: it would not be seen

/**
 * Draw the heads into an element.
 * @param {HTMLElement} container Emptied.
 * @param {readonly KindData[]} data One or more kinds of attention.
 * @param {Selection} first
 * @param {(selection: Selection) => void} onChange Called after each change by the reader, not by `select`.
 * @returns {{ select(change: Partial<Selection>): void, recolor(): void, disconnect(): void }}
 */
export function exploreHeads(container, data, first, onChange) {
  /** @type {State} */
  const state = {
    kinds: data,
    selection: first,
    onChange,
    root: element("div", "explorer"),
    text: element("p"),
    grid: group("grid", tr("Heads")),
    cells: [],
    bar: element("canvas"),
    scale: [],
    name: element("b"),
    hint: element("p", "faint hint"),
    picture: element("div", "picture"),
    drawing: undefined,
    pressedStates: [],
  };
  state.root.append(controls(state), frame(state));
  container.replaceChildren(state.root);
  state.grid.onkeydown = (event) => moveInRows(state.cells, event);
  const recolor = () => {
    readScale(state);
    drawOverview(state);
    show(state, {});
  };
  recolor();
  return { select: (change) => show(state, change), recolor, disconnect: () => state.drawing?.disconnect() };
}

/** @param {State} state */
function controls(state) {
  const { kinds } = state;
  const line = element("div", "controls");
  const names = kinds.map(({ name }) => name);
  line.append(
    choice(state, tr("Attention"), names, shownKind, (index) => ({ kind: kinds[index].kind, words: [] })),
    choice(
      state,
      tr("View"),
      [tr("Lines"), tr("Map"), tr("Table")], // VIEWS
      ({ selection }) => VIEWS.indexOf(selection.view),
      (index) => ({ view: VIEWS[index] }),
    ),
  );
  return line;
}

/**
 * @param {State} state
 * @param {string} name
 * @param {string[]} labels
 * @param {(state: State) => number} current
 * @param {(index: number) => Partial<Selection>} change
 */
function choice(state, name, labels, current, change) {
  const row = group("choice", name);
  const buttons = labels.map((label, index) => {
    const node = element("button", "", label);
    node.type = "button";
    node.onclick = () => choose(state, change(index));
    return node;
  });
  row.append(...buttons);
  state.pressedStates.push(() => {
    buttons.forEach((node, index) => node.setAttribute("aria-pressed", String(index === current(state))));
  });
  return row;
}

/** @param {State} state */
function frame({ text, grid, bar, name, hint, picture }) {
  const overview = element("section", "overview");
  const scale = element("div", "bar");
  scale.append(element("span", "number", "0"), bar, element("span", "number", "1"));
  overview.append(text, grid, scale);
  const detail = element("section", "detail");
  const title = element("p");
  title.append(name);
  detail.append(title, hint, picture);
  const both = element("div", "both");
  both.append(overview, detail);
  return both;
}

// --- the selection ---------------------------------------------------------------------------------------------------

/** @param {State} state */
function shownKind({ kinds, selection }) {
  return kinds.findIndex(({ kind }) => kind === selection.kind);
}

/** @param {State} state @param {Partial<Selection>} change Made by the reader. */
function choose(state, change) {
  show(state, change);
  state.onChange(state.selection);
}

/** @param {State} state @param {Partial<Selection>} change */
function show(state, change) {
  const before = state.selection.kind;
  const selection = { ...state.selection, ...change };
  state.selection = selection;
  const kind = state.kinds[shownKind(state)];
  selection.layer = Math.min(selection.layer, kind.weights.length - 1);
  selection.head = Math.min(selection.head, kind.weights[0].length - 1);
  if (selection.kind !== before) drawOverview(state);
  for (const cell of state.cells.flat()) {
    const on = Number(cell.dataset.row) === selection.layer && Number(cell.dataset.column) === selection.head;
    cell.setAttribute("aria-pressed", String(on));
    cell.tabIndex = on ? 0 : -1; // Tab reaches the grid, arrow keys its heads
  }
  for (const update of state.pressedStates) update();
  const name = headName(selection.layer, selection.head);
  state.name.textContent = tr("{kind} attention, {head}", { kind: kind.name, head: name });
  state.hint.textContent = hint(selection.view);
  state.drawing?.disconnect();
  state.drawing = drawDetail(state, kind);
}

/** @param {View} view */
function hint(view) {
  if (view === "Lines") {
    return tr("Hover a word, or move with Tab and the arrow keys, to read its weights. Click to keep them.");
  }
  return view === "Map" ? tr("Hover a cell or a word, or move with Tab and the arrow keys, to read the weights.") : "";
}

/**
 * Select a word of the large head; with a modifier key held down, in addition to those selected on its side.
 * @param {State} state
 * @param {string} link "": clear the selection.
 * @param {Modifiers} modifiers
 */
function selectWord(state, link, { ctrlKey = false, metaKey = false, shiftKey = false }) {
  if (!link) return choose(state, { words: [] });
  const [name, number] = link.split(" ");
  const side = /** @type {Axis} */ (name);
  const index = Number(number);
  const { selection } = state;
  const known = selection.side === side ? selection.words : [];
  const others = known.filter((word) => word !== index);
  const also = ctrlKey || metaKey || shiftKey;
  const wasOn = known.includes(index);
  const words = also ? (wasOn ? others : [...known, index]) : wasOn && !others.length ? [] : [index];
  choose(state, { side, words: words.sort((a, b) => a - b) });
}

// --- drawing ---------------------------------------------------------------------------------------------------------

/** The colours of the weights, for a light or a dark page. @param {State} state */
function readScale(state) {
  state.scale = pageScale(state.root);
  const ramp = Float32Array.from({ length: 180 }, (_, pixel) => pixel / 179);
  paintWeights(state.bar, ramp, ramp.length, state.scale);
}

/** @param {number} layer @param {number} head */
export function headName(layer, head) {
  return `L${layer + 1} H${head + 1}`;
}

/** @param {State} state */
function drawOverview(state) {
  const kind = state.kinds[shownKind(state)];
  state.text.replaceChildren(element("b", "", tr("{kind} attention", { kind: kind.name })), `: ${kind.text}`);
  state.grid.style.gridTemplateColumns = `2.2em repeat(${kind.weights[0].length}, minmax(0, 1fr))`;
  state.cells = kind.weights.map((heads, layer) => heads.map((_, head) => gridCell(state, kind, layer, head)));
  const names = kind.weights[0].map((_, head) => element("span", "name", `H${head + 1}`));
  const rows = state.cells.flatMap((row, layer) => [element("span", "name", `L${layer + 1}`), ...row]);
  state.grid.replaceChildren(element("span"), ...names, ...rows);
}

/** @param {State} state @param {KindData} kind @param {number} layer @param {number} head */
function gridCell(state, kind, layer, head) {
  const node = button("cell");
  node.setAttribute("aria-label", headName(layer, head));
  node.title = headName(layer, head);
  Object.assign(node.dataset, { row: layer, column: head });
  node.onclick = () => {
    choose(state, { layer, head });
    goTo(node, []);
  };
  const canvas = element("canvas");
  paintWeights(canvas, decodedWeights(kind.weights[layer][head]), kind.key.length, state.scale);
  node.append(canvas);
  return node;
}

/** @param {State} state @param {KindData} kind */
function drawDetail(state, kind) {
  const { picture, scale, selection } = state;
  const { query, key, predicted, titles } = kind;
  const { layer, head: number, view, side, words } = selection;
  const named = (/** @type {Axis} */ axis) => kind[axis].map((_, index) => `${axis} ${index}`);
  const lit = { query: side === "query" ? [...words] : [], key: side === "key" ? [...words] : [] };
  const links = { query: named("query"), key: named("key") };
  const axes = { query, key, predicted, titles, lit, links, legend: false };
  /** @type {HeadData} */
  const head = {
    name: headName(layer, number),
    color: "var(--accent)",
    dash: "solid",
    weights: kind.weights[layer][number],
  };
  /** @param {string} word @param {Modifiers} modifiers */
  const onSelect = (word, modifiers) => selectWord(state, word, modifiers);
  if (view === "Lines") {
    const selected = words.map((index) => /** @type {[Axis, number]} */ ([side, index]));
    return drawLines(picture, { ...axes, heads: [head], minWeight: MIN_WEIGHT, selected }, { onSelect });
  }
  picture.tabIndex = view === "Table" ? 0 : -1; // arrow keys scroll the table, which has nothing to focus
  if (view === "Map") return drawMap(picture, { ...axes, heads: [head], scale, low: 0 }, { onSelect });
  picture.replaceChildren(matrix(kind, decodedWeights(head.weights)));
  return undefined;
}

/** @param {KindData} kind @param {Float32Array} weights */
function matrix({ query, key, predicted }, weights) {
  const table = element("table", "matrix");
  table.append(tableRow("th", [[], ...key.map(spelled)]));
  query.forEach((spans, row) => {
    const start = row * key.length;
    const values = [...weights.subarray(start, start + key.length)].map((weight) => [
      Number.isNaN(weight) ? "" : weight.toFixed(3),
    ]);
    const line = tableRow("td", values, [...values.keys()]);
    const name = element("th");
    const next = predicted?.[row];
    name.append(...spelled(spans), ...(next ? [element("span", "faint", " \u25b8 "), ...spelled(next)] : []));
    line.prepend(name);
    table.append(line);
  });
  return table;
}
