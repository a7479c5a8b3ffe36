// @ts-check
// A number for each head over its layer, with the mean of each layer.

import { asButton, chartFrame, followWidth } from "./chart.js";
import { vector } from "./dom.js";
import { pageScale } from "./shades.js";
import { tr } from "./texts.js";

/**
 * @typedef {{ layer: number, head: number, value: number, name: string, marked: boolean }} Dot
 * @typedef {object} DotsData
 * @property {string} name
 * @property {string} axis
 * @property {Dot[]} dots
 * @property {number} layers
 *
 * @typedef {(place: { row: number, column: number }) => void} OnPlace
 */

const HEIGHT = 240; // pixels
const SPREAD = 0.6; // width of the heads of a layer, where the next layer is at 1

/**
 * @param {HTMLElement} root
 * @param {DotsData} data
 * @param {OnPlace} onPlace
 * @returns {() => void} Stops following the width of the page.
 */
export function drawDots(root, { name, axis, dots, layers }, onPlace) {
  return followWidth(root, name, (figure) => {
    const columns = Array.from({ length: layers }, (_, layer) => `L${layer + 1}`);
    const high = Math.max(...dots.map((dot) => dot.value), 0);
    const { svg, x, y } = chartFrame(root, HEIGHT, { axis, columns, low: 0, high });
    const heads = 1 + Math.max(...dots.map((dot) => dot.head), 0);
    const means = columns.flatMap((_, layer) => {
      const own = dots.filter((dot) => dot.layer === layer);
      return own.length ? [`${x(layer)} ${y(own.reduce((sum, dot) => sum + dot.value, 0) / own.length)}`] : [];
    });
    const mean = vector("path", { class: "mean", d: means.length ? `M${means.join("L")}` : "" });
    mean.append(vector("title", {}, tr("mean of the layer")));
    svg.append(mean);
    const colors = pageScale(root, "heads");
    const marks = dots.map((dot, column) => {
      const place = { cx: x(dot.layer + SPREAD * ((dot.head + 0.5) / heads - 0.5)), cy: y(dot.value) };
      const mark = vector("circle", { ...place, r: dot.marked ? 6.5 : 4, class: "mark" });
      mark.style.fill = colors[dot.head % colors.length];
      mark.append(vector("title", {}, dot.name));
      asButton(mark, dot.name, dot.marked, { row: 0, column }, onPlace);
      return mark;
    });
    svg.append(...marks);
    figure.append(svg);
    return [marks];
  });
}
