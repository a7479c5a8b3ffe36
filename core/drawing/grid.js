// @ts-check
// Cells with text and colour in rows and columns. Each may be a button, and so may the name of a row.

/** @import { Modifiers } from "./types" */

import { button, element, focusedIn, group, moveInRows, restoreFocus } from "./dom.js";
import { scrolling } from "./scrolling.js";
import { mixed, pageScale, readable, stopsOf } from "./shades.js";

/**
 * @typedef {"sequential" | "diverging" | "greys"} ScaleName
 *
 * @typedef {object} Cell
 * @property {string} text
 * @property {string} name Shown on hover, and read by screen readers.
 * @property {number} shade Place on its scale.
 * @property {ScaleName} scale
 * @property {boolean} marked
 * @property {boolean} strong
 * @property {[number, number] | null} [bar] Ends of a bar, as shares of the width; null: the whole cell has the colour.
 *
 * @typedef {object} GridData
 * @property {string[]} columns
 * @property {{ name: string, cells: (Cell | null)[], word?: string, selected?: boolean }[]} rows A row that belongs to a
 *   word of the sentence has its name, and a click on the name selects the word.
 * @property {ScaleName} scale Of the legend.
 * @property {[name: string, columns: number][]} [groups] Names above several columns each.
 * @property {string} name
 * @property {number} cellWidth Least width of a cell, in characters.
 * @property {{ title: string, low: string, high: string }} legend
 *
 * @typedef {object} GridEvents
 * @property {((row: number, column: number) => void) | null} onCell null: cells are no buttons.
 * @property {(word: string, modifiers: Modifiers) => void} [onWord]
 */

/**
 * The grid that each root shows, with its buttons.
 * @type {WeakMap<HTMLElement, { shape: string, buttons: HTMLButtonElement[] }>}
 */
const drawn = new WeakMap();

/** @param {HTMLElement} root @param {GridData} data @param {GridEvents} events */
export function drawGrid(root, data, { onCell, onWord }) {
  const focused = focusedIn(root)?.dataset;
  const scrolled = root.querySelector(".scroll")?.scrollLeft ?? 0;
  const grid = group("grid", data.name);
  const { columns, groups = [] } = data;
  const stops = Object.fromEntries(Object.entries(RAMPS).map(([name, ramp]) => [name, stopsOf(pageScale(root, ramp))]));
  grid.style.setProperty("--columns", String(columns.length));
  grid.style.setProperty("--cell", `${data.cellWidth}ch`);
  if (groups.length) {
    grid.append(element("span"));
    for (const [name, width] of groups) {
      const title = element("span", "group", name);
      title.style.gridColumn = `span ${width}`;
      grid.append(title);
    }
  }
  grid.append(element("span"), ...columns.map((name) => heading(name, "column")));
  const lines = data.rows.map(({ name, cells, word, selected = false }, row) => {
    const line = cells.map((cell, column) => cellNode(cell, row, column, stops, onCell));
    const title = word ? wordHeading(name, selected, (event) => onWord?.(word, event)) : heading(name, "row");
    grid.append(title, ...line);
    for (let gap = line.length; gap < columns.length; gap++) grid.append(element("span"));
    return line;
  });
  const rowShapes = data.rows.map(({ name, cells }) => [name, cells.map(Boolean)]);
  const shape = JSON.stringify([data.name, columns, groups, data.cellWidth, rowShapes]);
  const before = drawn.get(root);
  const buttons = [...grid.querySelectorAll("button")];
  const note = legend(data.legend, pageScale(root, RAMPS[data.scale]));
  if (onCell && before?.shape === shape && before.buttons.length === buttons.length) {
    before.buttons.forEach((old, index) => become(old, buttons[index]));
    root.querySelector(".legend")?.replaceWith(note);
    return;
  }
  drawn.set(root, { shape, buttons });
  if (!onCell) buttons.forEach((each, index) => Object.assign(each.dataset, { row: index, column: 0 }));
  grid.onkeydown = (event) => moveInRows(onCell ? lines : buttons.map((each) => [each]), event);
  const box = element("div", "scroll");
  box.append(grid);
  scrolling(box);
  root.replaceChildren(box, note);
  box.scrollLeft = scrolled;
  restoreFocus(buttons, focused); // Tab reaches the grid, arrow keys its buttons
}

/** @type {Record<ScaleName, import("./shades.js").Scale>} */
const RAMPS = { sequential: "ramp", diverging: "diverging", greys: "greys" };

/**
 * Make a button look and act like another one. It and the text in it stay the same elements, so a click that has begun
 * is not lost when the grid is drawn again.
 * @param {HTMLButtonElement} old
 * @param {HTMLButtonElement} button
 */
function become(old, button) {
  for (const { name, value } of button.attributes) {
    if (name !== "tabindex" && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  const [text] = old.children;
  if (text && text.textContent !== button.textContent) text.textContent = button.textContent;
  old.onclick = button.onclick;
}

/** @param {string} name @param {boolean} selected @param {(event: MouseEvent) => void} onClick */
function wordHeading(name, selected, onClick) {
  const node = button("row");
  node.append(name);
  node.dir = "auto";
  node.title = name;
  node.setAttribute("aria-pressed", String(selected));
  node.onclick = onClick;
  return node;
}

/** @param {string} name @param {string} style */
function heading(name, style) {
  const node = element("span", style, name);
  node.dir = "auto";
  node.title = name;
  return node;
}

/**
 * @param {Cell | null} cell null: a gap.
 * @param {number} row
 * @param {number} column
 * @param {Record<string, number[][]>} stops Colours by scale.
 * @param {GridEvents["onCell"]} send null: it is no button.
 * @returns {HTMLElement}
 */
function cellNode(cell, row, column, stops, send) {
  if (!cell) return element("span");
  const style = `cell${cell.marked ? " marked" : ""}${cell.strong ? " strong" : ""}${cell.bar ? " bar" : ""}`;
  const node = send ? button(style) : element("span", style);
  const text = element("span", "", cell.text);
  text.dir = "auto";
  node.append(text);
  Object.assign(node.dataset, { row, column });
  const share = cell.scale === "diverging" ? (cell.shade + 1) / 2 : cell.shade;
  const [color, ink] = readable(mixed(stops[cell.scale], share));
  Object.assign(node.style, cell.bar ? { background: barOf(color, cell.bar) } : { background: color, color: ink });
  node.title = cell.name;
  if (send) {
    node.setAttribute("aria-label", cell.name);
    node.setAttribute("aria-pressed", String(cell.marked));
    node.onclick = () => send(row, column);
  }
  return node;
}

/** A bar below the text. @param {string} color @param {[number, number]} bar */
function barOf(color, bar) {
  const [from, to] = bar.map((end) => `${(100 * end).toFixed(2)}%`);
  return `linear-gradient(to right, transparent ${from}, ${color} ${from} ${to}, transparent ${to}) 0 100% / 100% 6px no-repeat`;
}

/** @param {{ title: string, low: string, high: string }} legend @param {readonly string[]} colors */
function legend({ title, low, high }, colors) {
  const line = element("div", "legend");
  const bar = element("i");
  bar.style.background = `linear-gradient(to right, ${colors.join(", ")})`;
  line.append(element("b", "", low), bar, element("b", "", high), title);
  return line;
}
