// @ts-check
// What charts share: a picture as wide as its place, with a scale from bottom to top and names below.

import { focusedIn, group, moveInRows, restoreFocus, vector } from "./dom.js";
import { decimal } from "./numbers.js";

const [LEFT, RIGHT, TOP, BOTTOM] = [52, 12, 12, 28]; // pixels
const TICKS = 5; // about so many
const LEAST_WIDTH = 240;

/**
 * @typedef {object} Frame
 * @property {SVGSVGElement} svg
 * @property {(place: number) => number} x Of a column, counted from 0; between them, too.
 * @property {(value: number) => number} y
 */

/**
 * Draw a chart, and again whenever its place has another width.
 * @param {HTMLElement} root
 * @param {string} name
 * @param {(figure: HTMLElement) => SVGElement[][]} draw Returns its marks, in rows for arrow keys.
 * @returns {() => void} Stops following the width.
 */
export function followWidth(root, name, draw) {
  const again = () => {
    const focused = focusedIn(root)?.dataset;
    const figure = group("chart", name);
    const rows = draw(figure);
    figure.onkeydown = (event) => moveInRows(rows, event);
    root.replaceChildren(figure);
    restoreFocus(rows.flat(), focused);
  };
  let width = root.clientWidth;
  again();
  const observer = new ResizeObserver(() => {
    if (root.clientWidth !== width) again();
    width = root.clientWidth;
  });
  observer.observe(root);
  return () => observer.disconnect();
}

/**
 * @param {HTMLElement} root
 * @param {number} height
 * @param {{ axis: string, columns: readonly string[], low: number, high: number }} scales `low` is 0 or below it.
 * @returns {Frame}
 */
export function chartFrame(root, height, { axis, columns, low, high }) {
  const width = Math.max(root.clientWidth, LEAST_WIDTH);
  const svg = vector("svg", { width, height, viewBox: `0 0 ${width} ${height}` });
  const step = tickStep(high - low);
  const [least, most] = [step * Math.floor(low / step), step * Math.max(Math.ceil(high / step), low < 0 ? 0 : 1)];
  const x = (/** @type {number} */ place) => LEFT + ((place + 0.5) / columns.length) * (width - LEFT - RIGHT);
  const y = (/** @type {number} */ value) => TOP + ((most - value) / (most - least)) * (height - TOP - BOTTOM);
  for (let value = least; value <= most + step / 2; value += step) {
    svg.append(vector("path", { class: "rule", d: `M${LEFT} ${y(value)}H${width - RIGHT}` }));
    svg.append(text(decimal(value, step < 1 ? 1 : 0), { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }));
  }
  const middle = (height - BOTTOM + TOP) / 2;
  svg.append(text(axis, { x: 12, y: middle, class: "axis", transform: `rotate(-90 12 ${middle})` }));
  columns.forEach((name, place) => svg.append(text(name, { x: x(place), y: height - 8, "text-anchor": "middle" })));
  return { svg, x, y };
}

/**
 * Make an element of a chart a button with a name.
 * @param {SVGElement} mark
 * @param {string} name
 * @param {boolean} isPressed
 * @param {{ row: number, column: number }} place
 * @param {(place: { row: number, column: number }) => void} onClick
 */
export function asButton(mark, name, isPressed, place, onClick) {
  mark.setAttribute("role", "button");
  mark.setAttribute("aria-label", name);
  mark.setAttribute("aria-pressed", String(isPressed));
  Object.assign(mark.dataset, place);
  mark.onclick = () => onClick(place);
  mark.onkeydown = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    onClick(place);
  };
}

/** @param {string} content @param {Record<string, string | number>} attributes */
function text(content, attributes) {
  const node = vector("text", attributes);
  node.textContent = content;
  return node;
}

/** The text that a pointer shows. @param {string} name */
export function hover(name) {
  const title = vector("title", {});
  title.textContent = name;
  return title;
}

/** @param {number} range */
function tickStep(range) {
  const rough = (range || 1) / TICKS;
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * ([1, 2, 5].find((factor) => factor * power >= rough) ?? 10);
}
