// @ts-check
// A button for each head, and for each layer one that stands for all its heads.

/** @import { Component } from "../../../components/streamlit" */

import { button, element, focusedIn, group, moveInRows, restoreFocus } from "../../../../core/drawing/dom.js";
import { decimal } from "../../../../core/drawing/numbers.js";
import { tr } from "../../../../core/drawing/texts.js";
import { component, rootOf } from "../../../components/renderer.js";

/**
 * @typedef {object} Cell
 * @property {number} head
 * @property {string} name
 * @property {number} gate Factor of the head's output; 1: unchanged.
 * @property {number | null} effect Change of the log-probability in nats when this head alone is off.
 * @property {string} color
 * @property {string} text Colour of the text.
 *
 * @typedef {{ name: string, layer: number, cells: Cell[] }} Row
 * @typedef {{ kind: string, name: string, rows: Row[] }} Board
 * @typedef {{ boards: Board[], limit: number | null, scale: string[], ticks: [string, number][] }} Data See `switchboard_payload`.
 */

export default component((/** @type {Component<Data>} */ { data, parentElement, setTriggerValue }) => {
  const root = rootOf(parentElement);
  const focused = focusedIn(root)?.dataset;
  const boards = element("div", "boards");
  // The most columns of all boards, for cells of one size.
  const columns = Math.max(...data.boards.flatMap(({ rows }) => rows.map(({ cells }) => cells.length)));
  const buttons = data.boards.map((each) => {
    const send = (/** @type {number} */ layer, /** @type {number | null} */ head) =>
      setTriggerValue("switch", { kind: each.kind, layer, head });
    const { node, lines } = board(each, columns, send);
    boards.append(node);
    return lines.flat();
  });
  root.replaceChildren(boards, legend(data));
  for (const each of buttons) restoreFocus(each, focused); // Tab reaches a board, arrow keys its switches
});

/**
 * @param {Board} board
 * @param {number} columns
 * @param {(layer: number, head: number | null) => void} send null: all heads of the layer.
 */
function board({ kind, name, rows }, columns, send) {
  const node = element("div", "board");
  const changed = rows.flatMap(({ cells }) => cells).filter(({ gate }) => gate !== 1).length;
  node.append(element("div", "title", changed ? tr("{name}: {count} changed", { name, count: changed }) : name));
  const grid = group("grid", tr("Switches: {name}", { name }));
  const heads = Math.max(...rows.map(({ cells }) => cells.length));
  grid.style.setProperty("--columns", String(columns));
  grid.append(element("span", "name"));
  for (let head = 0; head < columns; head++) grid.append(element("span", "name", head < heads ? `H${head + 1}` : ""));
  const buttons = rows.map((row, index) => {
    const all = button("layer");
    all.textContent = row.name;
    all.title = tr("All heads of this layer");
    all.setAttribute("aria-label", tr("All heads of {kind} {layer}", { kind: name, layer: row.name }));
    all.onclick = () => send(row.layer, null);
    const line = [all, ...row.cells.map((cell) => cellButton(cell, () => send(row.layer, cell.head)))];
    line.forEach((each, column) => Object.assign(each.dataset, { kind, row: index, column }));
    return line;
  });
  for (const line of buttons) {
    grid.append(...line);
    for (let gap = line.length; gap <= columns; gap++) grid.append(element("span"));
  }
  grid.onkeydown = (event) => moveInRows(buttons, event);
  node.append(grid);
  return { node, lines: buttons };
}

/**
 * @param {Cell} cell
 * @param {() => void} send
 */
function cellButton({ name, gate, effect, color, text }, send) {
  const changed = gate !== 1;
  const node = button(changed ? "cell set" : "cell");
  if (changed) node.append(element("span", "", gate === 0 ? tr("off") : decimal(gate, 1)));
  else if (effect !== null) node.textContent = short(effect);
  Object.assign(node.style, { background: color, color: text });
  const lines = [name, changed ? tr("scaled by {factor}", { factor: decimal(gate, 2) }) : tr("on")];
  if (effect !== null) lines.push(tr("off alone: {effect} nats", { effect: decimal(effect, 3, "exceptZero") }));
  node.title = lines.join("\n");
  node.setAttribute("aria-label", name);
  node.setAttribute("aria-pressed", String(changed));
  node.onclick = send;
  return node;
}

/** @param {Data} data */
function legend({ limit, scale, ticks }) {
  const line = element("div", "legend");
  if (limit === null) return line;
  const bar = element("i");
  bar.style.background = `linear-gradient(to right, ${scale.join(", ")})`;
  for (const [name, share] of ticks) {
    const tick = element("s", "", name);
    tick.style.left = `${50 * (share + 1)}%`;
    bar.append(tick);
  }
  const name = tr("change of the log-probability in nats with this head alone off; the scale is logarithmic");
  const digits = (String(limit).split(".")[1] ?? "").length;
  const texts = [
    tr("less probable {limit}", { limit: decimal(-limit, digits) }),
    tr("{limit} more probable", { limit: decimal(limit, digits, "always") }),
  ];
  const ends = texts.map((text) => element("b", "", text));
  line.append(ends[0], bar, ends[1], element("span", "", name));
  return line;
}

/** @param {number} effect */
function short(effect) {
  const text = decimal(effect, Math.abs(effect) < 9.95 ? 1 : 0, "exceptZero");
  return /[1-9]/.test(text) ? text.replace(/^([\u2212+])0(\D)/, "$1$2") : "0";
}
