// @ts-check
// Signed numbers in columns, stacked away from 0.

/** @import { OnPlace } from "./dots.js" */

import { asButton, chartFrame, followWidth, legend } from "./chart.js";
import { element, vector } from "./dom.js";
import { pageScale } from "./shades.js";

/**
 * @typedef {{ value: number, name: string, isButton: boolean }} Bar
 * @typedef {object} BarsData
 * @property {string} name
 * @property {string} about What it shows, for screen readers.
 * @property {string} axis
 * @property {string} below
 * @property {string[]} columns
 * @property {{ name: string, color: number, bars: Bar[] }[]} series
 */

const HEIGHT = 250; // pixels
const WIDTH = 0.65; // of a bar, where the next column is at 1

/**
 * @param {HTMLElement} root
 * @param {BarsData} data
 * @param {OnPlace} onPlace
 * @returns {() => void} Stops following the width of the page.
 */
export function drawBars(root, { name, about, axis, below, columns, series }, onPlace) {
  return followWidth(root, name, (figure) => {
    const colors = pageScale(root, "heads");
    const ends = columns.map((_, column) => [-1, 1].map((sign) => sum(series, column, sign)));
    const [low, high] = [Math.min(...ends.map((end) => end[0]), 0), Math.max(...ends.map((end) => end[1]), 0)];
    const { svg, x, y } = chartFrame(root, HEIGHT, { axis, below, columns, low, high });
    const width = WIDTH * (columns.length > 1 ? x(1) - x(0) : x(0));
    const reached = columns.map(() => ({ [-1]: 0, [1]: 0 }));
    const rows = series.map(({ color, bars }, row) =>
      bars.flatMap(({ value, name: said, isButton }, column) => {
        if (!value) return [];
        const sign = value < 0 ? -1 : 1;
        const [from, to] = [reached[column][sign], (reached[column][sign] += value)];
        const [top, bottom] = [y(Math.max(from, to)), y(Math.min(from, to))];
        const place = { x: x(column) - width / 2, y: top, width, height: bottom - top };
        const mark = vector("rect", { ...place, class: isButton ? "mark" : "" });
        mark.style.fill = colors[color];
        mark.append(vector("title", {}, said));
        if (isButton) asButton(mark, said, false, { row, column }, onPlace);
        svg.append(mark);
        return isButton ? [mark] : [];
      }),
    );
    svg.append(vector("path", { class: "zero", d: `M${x(-0.5)} ${y(0)}H${x(columns.length - 0.5)}` }));
    const samples = series.map(({ name, color }) => {
      const sample = element("i");
      sample.style.background = colors[color];
      return { name, sample };
    });
    if (!rows.flat().length) {
      svg.setAttribute("role", "img");
      svg.setAttribute("aria-label", about);
    }
    figure.append(legend(samples), svg);
    return rows;
  });
}

/** @param {BarsData["series"]} series @param {number} column @param {number} sign */
function sum(series, column, sign) {
  return series.reduce((total, { bars }) => total + Math.max(sign * bars[column].value, 0), 0) * sign;
}
