// @ts-check
// A number for each head over its layer, with the mean of each layer.

import { focusedIn, group, moveInRows, restoreFocus, vector } from "./dom.js";
import { decimal } from "./numbers.js";
import { pageScale } from "./shades.js";
import { tr } from "./texts.js";

/**
 * @typedef {{ layer: number, head: number, value: number, name: string, marked: boolean }} Dot
 * @typedef {object} DotsData
 * @property {string} name
 * @property {string} axis
 * @property {Dot[]} dots
 * @property {number} layers
 */

const [HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [240, 52, 12, 12, 28]; // pixels
const SPREAD = 0.6; // width of the heads of a layer, where the next layer is at 1
const TICKS = 5; // at most, between 0 and the largest value

/**
 * @param {HTMLElement} root
 * @param {DotsData} data
 * @param {(dot: number) => void} onDot
 * @returns {() => void} Stops following the width of the page.
 */
export function drawDots(root, data, onDot) {
  const draw = () => {
    const focused = focusedIn(root)?.dataset;
    const figure = group("dots", data.name);
    const { svg, marks } = picture(root, data, onDot);
    figure.append(svg);
    figure.onkeydown = (event) => moveInRows([marks], event);
    root.replaceChildren(figure);
    restoreFocus(marks, focused);
  };
  let width = root.clientWidth;
  draw();
  const observer = new ResizeObserver(() => {
    if (root.clientWidth !== width) draw();
    width = root.clientWidth;
  });
  observer.observe(root);
  return () => observer.disconnect();
}

/**
 * @param {HTMLElement} root
 * @param {DotsData} data
 * @param {(dot: number) => void} onDot
 */
function picture(root, { axis, dots, layers }, onDot) {
  const width = Math.max(root.clientWidth, 240);
  const svg = vector("svg", { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}` });
  const step = tickStep(Math.max(...dots.map((dot) => dot.value), 0));
  const most = step * Math.ceil(Math.max(...dots.map((dot) => dot.value), step) / step);
  const heads = 1 + Math.max(...dots.map((dot) => dot.head), 0);
  const x = (/** @type {number} */ place) => LEFT + ((place + 0.5) / layers) * (width - LEFT - RIGHT);
  const y = (/** @type {number} */ value) => HEIGHT - BOTTOM - (value / most) * (HEIGHT - TOP - BOTTOM);
  for (let value = 0; value <= most + step / 2; value += step) {
    svg.append(vector("path", { class: "rule", d: `M${LEFT} ${y(value)}H${width - RIGHT}` }));
    svg.append(text(decimal(value, step < 1 ? 1 : 0), { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }));
  }
  const middle = (HEIGHT - BOTTOM + TOP) / 2;
  svg.append(text(axis, { x: 12, y: middle, class: "axis", transform: `rotate(-90 12 ${middle})` }));
  const own = Array.from({ length: layers }, (_, layer) => dots.filter((dot) => dot.layer === layer));
  const means = own.flatMap((each, layer) =>
    each.length ? [[x(layer), y(each.reduce((sum, dot) => sum + dot.value, 0) / each.length)]] : [],
  );
  const mean = vector("path", { class: "mean", d: `M${means.map((point) => point.join(" ")).join("L")}` });
  mean.append(named(tr("mean of the layer")));
  if (means.length) svg.append(mean);
  own.forEach((_, layer) => svg.append(text(`L${layer + 1}`, { x: x(layer), y: HEIGHT - 8, "text-anchor": "middle" })));
  const colors = pageScale(root, "heads");
  const marks = dots.map((dot, index) => {
    const place = { cx: x(dot.layer + SPREAD * ((dot.head + 0.5) / heads - 0.5)), cy: y(dot.value) };
    const mark = vector("circle", { ...place, r: dot.marked ? 6.5 : 4, class: "dot", role: "button" });
    mark.style.fill = colors[dot.head % colors.length];
    mark.setAttribute("aria-label", dot.name);
    mark.setAttribute("aria-pressed", String(dot.marked));
    Object.assign(mark.dataset, { row: 0, column: index });
    mark.append(named(dot.name));
    mark.onclick = () => onDot(index);
    mark.onkeydown = (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      onDot(index);
    };
    svg.append(mark);
    return mark;
  });
  return { svg, marks };
}

/** @param {number} most */
function tickStep(most) {
  const rough = (most || 1) / TICKS;
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * ([1, 2, 5].find((factor) => factor * power >= rough) ?? 10);
}

/**
 * @param {string} content
 * @param {Record<string, string | number>} attributes
 */
function text(content, attributes) {
  const node = vector("text", attributes);
  node.textContent = content;
  return node;
}

/** @param {string} name */
function named(name) {
  const title = vector("title", {});
  title.textContent = name;
  return title;
}
