// @ts-check
// All heads as one picture, divided into a button for each.

/** @import { Axis, Dash, PerAxis, Place } from "../../core/drawing/types" */
/** @import { Component } from "./streamlit" */

import { button, element, group, moveInRows, restoreFocus } from "../../core/drawing/dom.js";
import { runsWithout } from "../../core/drawing/map_cells.js";
import { tr } from "../../core/drawing/texts.js";
import { tellClicked } from "./attention_renderer.js";
import { listen, placed } from "./linked_words.js";
import { component } from "./renderer.js";

/**
 * @typedef {object} Cell
 * @property {string} name
 * @property {string} title Written on the map.
 * @property {number} layer
 * @property {number} head
 * @property {string} caption
 * @property {string} text Shown on hover.
 * @property {{ color: string, dash: string, text: string, badge: string } | null} mark Of a selected head.
 *
 * @typedef {object} Data See `grid_payload`.
 * @property {string} picture Address of the picture of all maps.
 * @property {string[]} columns
 * @property {boolean} sorted Whether the rows are ranks and no layers.
 * @property {PerAxis<number[]>} lit
 * @property {PerAxis<number>} size
 * @property {PerAxis<string[]> | null} links
 * @property {number} rowHeight
 * @property {Record<number, string[]>} weights Encoded, by layer and head; empty for a long sentence.
 * @property {Record<number, (string | null)[]>} hidden Encoded likewise: weights of rows on hidden tokens.
 * @property {{ color: string, dash: Dash }[]} looks Of heads by number.
 * @property {{ name: string, cells: Cell[] }[]} rows
 */

export default component((/** @type {Component<Data>} */ { data, root, focused, setTriggerValue }) => {
  const { columns, lit, links, rows, size } = data;
  const click = (/** @type {Cell} */ { name, layer, head }) => {
    setTriggerValue("head", { layer, head });
    const weights = data.weights[layer]?.[head];
    const hidden = data.hidden[layer]?.[head] ?? null;
    if (weights) tellClicked({ head: { name, ...data.looks[head], weights, hidden }, size });
  };
  const grid = group("grid", tr("Heads"));
  grid.style.setProperty("--columns", String(columns.length));
  grid.style.setProperty("--row", `${data.rowHeight}px`);
  grid.style.setProperty("--rows", String(rows.length));
  grid.append(element("span", "name layer", data.sorted ? tr("rank") : ""));
  for (const name of columns) grid.append(element("span", "name", name));
  const buttons = rows.map(({ cells }, row) => cells.map((cell, column) => cellButton(cell, row, column, data, click)));
  rows.forEach(({ name }, row) => {
    const title = element("span", "name layer", name);
    title.style.gridRow = String(row + 2); // rows may differ in length
    grid.append(title, ...buttons[row]);
  });
  // In a style sheet the picture is decoded once for all cells.
  grid.append(element("style", "maps", `.frame { --picture: url("${data.picture}") }`));
  grid.onkeydown = (event) => moveInRows(buttons, event);
  root.replaceChildren(grid);
  restoreFocus(buttons.flat(), focused); // Tab reaches the grid, arrow keys its cells
  highlight(grid, lit, size);
  return listen(root, (place) => highlight(grid, shownPlaces(lit, placed(place, size, links)), size));
});

/**
 * Rows and columns highlighted while a word is pointed at: its own, or all selected ones if it is among them.
 * @param {PerAxis<number[]>} lit
 * @param {Place} place
 */
function shownPlaces(lit, { query, key }) {
  const selected = (query !== undefined && lit.query.includes(query)) || (key !== undefined && lit.key.includes(key));
  if ((query === undefined && key === undefined) || selected) return lit;
  return { query: query === undefined ? [] : [query], key: key === undefined ? [] : [key] };
}

/**
 * Dim what is in none of these rows and columns, in every map; nothing if there are none.
 * @param {HTMLElement} grid
 * @param {PerAxis<number[]>} lit
 * @param {PerAxis<number>} size
 */
function highlight(grid, lit, size) {
  grid.classList.toggle("dimmed", lit.query.length + lit.key.length > 0);
  for (const axis of /** @type {Axis[]} */ (["query", "key"])) {
    const at = (/** @type {number} */ index) => `${(100 * index) / size[axis]}%`;
    const stops = runsWithout(lit[axis], size[axis]).flatMap(([start, stop], run, runs) => [
      `transparent ${run ? at(runs[run - 1][1]) : "0%"} ${at(start)}`,
      `#000 ${at(start)} ${at(stop)}`,
    ]);
    const way = axis === "query" ? "bottom" : "right";
    grid.style.setProperty(`--${axis}`, `linear-gradient(to ${way}, ${[...stops, "transparent 0"].join()})`);
  }
}

/**
 * @param {Cell} cell
 * @param {number} row
 * @param {number} column
 * @param {Data} data
 * @param {(cell: Cell) => void} click
 */
function cellButton(cell, row, column, { rows, columns }, click) {
  const node = button(cell.mark ? "cell on" : "cell");
  node.title = cell.text;
  Object.assign(node.dataset, { row, column });
  node.setAttribute("aria-label", cell.name);
  node.setAttribute("aria-pressed", String(Boolean(cell.mark)));
  node.style.gridArea = `${row + 2} / ${column + 2}`;
  const frame = element("span", "frame");
  const [x, y] = [column / (columns.length - 1 || 1), row / (rows.length - 1 || 1)];
  frame.style.setProperty("--place", `${100 * x}% ${100 * y}%`);
  if (cell.title) frame.append(element("span", "strip top", cell.title), element("span", "strip bottom", cell.caption));
  if (cell.mark) {
    Object.assign(frame.style, { borderColor: cell.mark.color, borderStyle: cell.mark.dash });
    const badge = element("b", "badge", cell.mark.badge);
    Object.assign(badge.style, { background: cell.mark.color, color: cell.mark.text });
    frame.append(badge);
  }
  node.append(frame);
  node.onclick = () => {
    node.classList.add("pressed");
    click(cell);
  };
  return node;
}
