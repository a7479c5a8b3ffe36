// @ts-check
// Cells with text and colour in rows and columns. Each may be a button, and so may the name of a row.

/** @import { Component } from "./streamlit" */

import { button, element, focusedIn, group, moveInRows, restoreFocus } from "../../core/drawing/dom.js";
import { scrolling } from "../../core/drawing/scrolling.js";
import { select } from "./linked_words.js";
import { component, rootOf } from "./renderer.js";

/**
 * @typedef {object} Cell
 * @property {string} text
 * @property {string} name Shown on hover, and read by screen readers.
 * @property {string} color
 * @property {string} text_color
 * @property {boolean} marked
 * @property {boolean} strong
 * @property {[number, number] | null} bar Ends of a bar, as shares of the width; null: the whole cell has the colour.
 *
 * @typedef {object} Data See `grid_payload`.
 * @property {string[]} columns
 * @property {{ name: string, cells: (Cell | null)[], word: string, selected: boolean }[]} rows A row that belongs to a
 *   word of the sentence has its name, and a click on the name selects the word.
 * @property {[name: string, columns: number][]} groups Names above several columns each.
 * @property {string} name
 * @property {number} cellWidth Least width of a cell, in characters.
 * @property {{ title: string, colors: string[], low: string, high: string } | null} legend
 * @property {boolean} clickable
 */

/**
 * The grid that each root shows, with its buttons.
 * @type {WeakMap<HTMLElement, { shape: string, buttons: HTMLButtonElement[] }>}
 */
const drawn = new WeakMap();

export default component((/** @type {Component<Data>} */ { data, parentElement, setTriggerValue }) => {
  const root = rootOf(parentElement);
  const focused = focusedIn(root)?.dataset;
  const scrolled = root.querySelector(".scroll")?.scrollLeft ?? 0;
  const grid = group("grid", data.name);
  grid.style.setProperty("--columns", String(data.columns.length));
  grid.style.setProperty("--cell", `${data.cellWidth}ch`);
  if (data.groups.length) {
    grid.append(element("span"));
    for (const [name, columns] of data.groups) {
      const title = element("span", "group", name);
      title.style.gridColumn = `span ${columns}`;
      grid.append(title);
    }
  }
  grid.append(element("span"), ...data.columns.map((name) => heading(name, "column")));
  const send = (/** @type {number} */ row, /** @type {number} */ column) => setTriggerValue("cell", { row, column });
  const lines = data.rows.map(({ name, cells, word, selected }, row) => {
    const line = cells.map((cell, column) => cellNode(cell, row, column, data.clickable ? send : null));
    const title = word ? wordHeading(name, word, selected) : heading(name, "row");
    grid.append(title, ...line);
    for (let gap = line.length; gap < data.columns.length; gap++) grid.append(element("span"));
    return line;
  });
  const rowShapes = data.rows.map(({ name, cells }) => [name, cells.map(Boolean)]);
  const shape = JSON.stringify([data.name, data.columns, data.groups, data.cellWidth, rowShapes]);
  const before = drawn.get(root);
  const buttons = [...grid.querySelectorAll("button")];
  if (data.clickable && before?.shape === shape && before.buttons.length === buttons.length) {
    before.buttons.forEach((old, index) => become(old, buttons[index]));
    if (data.legend) root.querySelector(".legend")?.replaceWith(legend(data.legend));
    return;
  }
  drawn.set(root, { shape, buttons });
  if (!data.clickable) buttons.forEach((each, index) => Object.assign(each.dataset, { row: index, column: 0 }));
  grid.onkeydown = (event) => moveInRows(data.clickable ? lines : buttons.map((each) => [each]), event);
  const box = element("div", "scroll");
  box.append(grid);
  scrolling(box);
  root.replaceChildren(box, ...(data.legend ? [legend(data.legend)] : []));
  box.scrollLeft = scrolled;
  restoreFocus(buttons, focused); // Tab reaches the grid, arrow keys its buttons
});

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

/**
 * @param {string} name
 * @param {string} word Name of a word of the sentence.
 * @param {boolean} selected
 */
function wordHeading(name, word, selected) {
  const node = button("row");
  node.append(name);
  node.dir = "auto";
  node.title = name;
  node.setAttribute("aria-pressed", String(selected));
  node.onclick = (event) => select(word, event);
  return node;
}

/**
 * @param {string} name
 * @param {string} style
 */
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
 * @param {((row: number, column: number) => void) | null} send null: it is no button.
 * @returns {HTMLElement}
 */
function cellNode(cell, row, column, send) {
  if (!cell) return element("span");
  const style = `cell${cell.marked ? " marked" : ""}${cell.strong ? " strong" : ""}${cell.bar ? " bar" : ""}`;
  const node = send ? button(style) : element("span", style);
  const text = element("span", "", cell.text);
  text.dir = "auto";
  node.append(text);
  Object.assign(node.dataset, { row, column });
  Object.assign(node.style, { background: background(cell), color: cell.text_color });
  node.title = cell.name;
  if (send) {
    node.setAttribute("aria-label", cell.name);
    node.setAttribute("aria-pressed", String(cell.marked));
    node.onclick = () => send(row, column);
  }
  return node;
}

/** @param {Cell} cell */
function background({ color, bar }) {
  if (!bar) return color;
  const [from, to] = bar.map((end) => `${(100 * end).toFixed(2)}%`);
  return `linear-gradient(to right, transparent ${from}, ${color} ${from} ${to}, transparent ${to}) 0 100% / 100% 6px no-repeat`;
}

/** @param {{ title: string, colors: string[], low: string, high: string }} legend */
function legend({ title, colors, low, high }) {
  const line = element("div", "legend");
  const bar = element("i");
  bar.style.background = `linear-gradient(to right, ${colors.join(", ")})`;
  line.append(element("b", "", low), bar, element("b", "", high), title);
  return line;
}
