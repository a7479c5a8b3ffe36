// @ts-check
// What charts share: a picture as wide as its place, with a scale from bottom to top and names below.

import { act, element, focusedIn, group, moveInRows, restoreFocus, vector } from "./dom.js";
import { decimal } from "./numbers.js";

const [LEFT, RIGHT, TOP, BOTTOM] = [52, 12, 12, 28]; // pixels
const TICKS = 5; // about so many
const LEAST_WIDTH = 240;
const DIGIT = 7.2; // width of a character
const LABEL = 22; // of the axis, beside the numbers

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
 * The frame of a picture with columns.
 * @param {HTMLElement} root
 * @param {number} height
 * @param {{ axis: string, below?: string, columns: readonly string[], low: number, high: number }} scales `low` is 0 or below it.
 * @returns {Frame}
 */
export function chartFrame(root, height, { axis, below, columns, low, high }) {
  const step = tickStep(high - low);
  const [least, most] = [step * Math.floor(low / step), step * Math.max(Math.ceil(high / step), low < 0 ? 0 : 1)];
  const [names, values] = [columns.map((name, place) => ({ place, name })), ticks(least, most)];
  const ends = [-0.5, columns.length - 0.5];
  return plotFrame(root, height, { axis, below, names, ends, values, limits: [least, most] });
}

/**
 * @typedef {object} Scales
 * @property {string} axis Meaning of the numbers.
 * @property {string} [below] Of the places.
 * @property {{ place: number, name: string }[]} names Of places, from left to right; those that would overlap are left out.
 * @property {readonly number[]} ends Places at the left and at the right.
 * @property {{ place: number, name: string }[]} values Numbers with a line across.
 * @property {readonly number[]} limits Least and largest number.
 * @property {boolean} [isLog]
 */

/** @param {HTMLElement} root @param {number} height @param {Scales} scales @returns {Frame} */
export function plotFrame(root, height, { axis, below = "", names, ends, values, limits, isLog = false }) {
  const width = Math.max(root.clientWidth, LEAST_WIDTH);
  const svg = vector("svg", { width, height, viewBox: `0 0 ${width} ${height}` });
  const left = Math.max(LEFT, LABEL + DIGIT * Math.max(0, ...values.map(({ name }) => name.length)));
  const bottom = height - BOTTOM - (below ? 18 : 0);
  const scaled = (/** @type {number} */ value) => (isLog ? Math.log10(value) : value);
  const [least, most] = limits.map(scaled);
  const x = (/** @type {number} */ place) =>
    left + ((place - ends[0]) / (ends[1] - ends[0] || 1)) * (width - left - RIGHT);
  const y = (/** @type {number} */ value) => TOP + ((most - scaled(value)) / (most - least || 1)) * (bottom - TOP);
  for (const { place, name } of values) {
    svg.append(vector("path", { class: "rule", d: `M${left} ${y(place)}H${width - RIGHT}` }));
    svg.append(vector("text", { x: left - 6, y: y(place) + 4, "text-anchor": "end" }, name));
  }
  const middle = (bottom + TOP) / 2;
  svg.append(vector("text", { x: 12, y: middle, class: "axis", transform: `rotate(-90 12 ${middle})` }, axis));
  if (below) svg.append(vector("text", { x: (width + left - RIGHT) / 2, y: height - 6, class: "axis" }, below));
  let free = 0;
  for (const { place, name } of names) {
    const half = (name.length * DIGIT) / 2;
    const middle = Math.min(x(place), width - half);
    if (middle - half < free) continue;
    svg.append(vector("text", { x: middle, y: bottom + 20, "text-anchor": "middle" }, name));
    free = middle + half + DIGIT / 2;
  }
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
  mark.setAttribute("aria-label", name);
  mark.setAttribute("aria-pressed", String(isPressed));
  Object.assign(mark.dataset, place);
  act(mark, () => onClick(place));
}

/** Names beside samples of what has their colours. @param {{ name: string, sample: Element }[]} entries */
export function legend(entries) {
  const line = element("div", "names");
  for (const { name, sample } of entries) {
    const entry = element("span");
    entry.append(sample, name);
    line.append(entry);
  }
  return line;
}

/** Round numbers from one to another. @param {number} least @param {number} most */
export function ticks(least, most) {
  const step = tickStep(most - least);
  const first = Math.ceil(least / step - 1e-9);
  const count = Math.floor(most / step + 1e-9) - first + 1;
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  return Array.from({ length: count }, (_, number) => {
    const place = step * (first + number);
    return { place, name: decimal(place, digits) };
  });
}

/** @param {number} range */
export function tickStep(range) {
  const rough = (range || 1) / TICKS;
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * ([1, 2, 5].find((factor) => factor * power >= rough) ?? 10);
}
