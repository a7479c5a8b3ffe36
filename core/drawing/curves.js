// @ts-check
// Lines through points, over places with names or over numbers.

/** @import { Dash } from "./types" */

import { followWidth, legend, plotFrame, ticks } from "./chart.js";
import { DASHES, stroke, vector } from "./dom.js";
import { decimal, significant } from "./numbers.js";
import { pageScale } from "./shades.js";

/**
 * @typedef {[place: number, value: number]} Point
 *
 * @typedef {object} Curve
 * @property {string} name In the legend; "": none there.
 * @property {string} says Of a point, with `{x}` and `{y}`.
 * @property {number | null} color null: faint.
 * @property {Dash} dash
 * @property {number} width
 * @property {"line" | "points" | "both" | "ring" | "bars"} shape
 * @property {(Point | null)[]} points null: a gap.
 *
 * @typedef {object} CurvesData
 * @property {string} name
 * @property {string} about What it shows, for screen readers.
 * @property {string} axis
 * @property {string} below
 * @property {[place: number, name: string][]} places
 * @property {[number | null, number | null]} limits
 * @property {"linear" | "log" | "share"} scale
 * @property {number[]} rules Places of vertical lines.
 * @property {number | null} current The strong one of them.
 * @property {Curve[]} curves
 */

const HEIGHT = 300; // pixels
const [TOP, BOTTOM] = [12, HEIGHT - 46]; // of the vertical lines
const [POINT, RING] = [5, 5.5]; // diameter of a point, radius of a ring
const BAR = 0.85; // width of a bar, where the next one is at 1

/** @param {HTMLElement} root @param {CurvesData} data @returns {() => void} Stops following the width of the page. */
export function drawCurves(root, data) {
  return followWidth(root, data.name, (figure) => {
    const colors = pageScale(root, "heads");
    const { svg, x, y } = plotFrame(root, HEIGHT, scalesOf(data));
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", data.about);
    for (const place of data.rules) {
      svg.append(
        vector("path", { class: place === data.current ? "current" : "rule", d: `M${x(place)} ${TOP}V${BOTTOM}` }),
      );
    }
    const samples = data.curves.flatMap(({ name, color, dash, width, shape, points }) => {
      const ink = color === null ? "var(--faint)" : colors[color % colors.length];
      const line = { class: "curve", "stroke-width": width, "stroke-dasharray": DASHES[dash] };
      const dots = { class: "dots", "stroke-width": POINT };
      const at = points.map((point) => point && `${x(point[0]).toFixed(1)} ${y(point[1]).toFixed(1)}`);
      if (shape === "line" || shape === "both") svg.append(stroke({ ...line, d: joined(at) }, ink));
      if (shape === "points" || shape === "both") {
        svg.append(stroke({ ...dots, d: at.flatMap((place) => (place ? [`M${place}L${place}`] : [])).join("") }, ink));
      }
      for (const point of shape === "ring" ? points : []) {
        if (!point) continue;
        const ring = vector("circle", { cx: x(point[0]), cy: y(point[1]), r: RING, fill: "none", "stroke-width": 2 });
        ring.style.stroke = ink;
        svg.append(ring);
      }
      const wide = BAR * (x(pitch({ shape, points })) - x(0));
      for (const point of shape === "bars" ? points : []) {
        if (!point) continue;
        const [top, bottom] = [Math.max(point[1], 0), Math.min(point[1], 0)].map(y);
        const bar = vector("rect", { x: x(point[0]) - wide / 2, y: top, width: wide, height: bottom - top });
        bar.style.fill = ink;
        svg.append(bar);
      }
      if (!name) return [];
      const sample = vector("svg", { viewBox: "0 0 22 4", "aria-hidden": "true" });
      sample.append(stroke(shape === "points" ? { ...dots, d: "M11 2L11 2" } : { ...line, d: "M0 2H22" }, ink));
      return [{ name, sample }];
    });
    readOut(svg, data, x, y);
    if (samples.length) figure.append(legend(samples));
    figure.append(svg);
    return [];
  });
}

/** How far bars are from each other; 0 for other shapes. @param {Pick<Curve, "shape" | "points">} curve */
function pitch({ shape, points }) {
  const [first, second] = points.flatMap((point) => (point ? [point[0]] : []));
  return shape === "bars" && second !== undefined ? second - first : 0;
}

/** A path through places, with gaps. @param {(string | null)[]} places */
function joined(places) {
  return places.map((place, index) => (place ? `${index && places[index - 1] ? "L" : "M"}${place}` : "")).join("");
}

/** @param {CurvesData} data */
function scalesOf({ axis, below, places, limits, scale, rules, curves }) {
  const points = curves.flatMap((curve) => curve.points.filter((point) => point !== null));
  const across = [...points.map(([place]) => place), ...rules, ...places.map(([place]) => place)];
  const half = Math.max(0, ...curves.map(pitch)) / 2;
  const [first, last] = across.length ? extremes(across) : [0, 1];
  const [left, right] = [first - half, last + half];
  const numbers = points.length ? extremes(points.map(([, value]) => value)) : [1, 1];
  const isLog = scale === "log";
  const [low, high] = limits.map((limit, end) => limit ?? numbers[end]);
  const [least, most] = low < high ? [low, high] : isLog ? [low / 2, 2 * high] : [low - 0.5, high + 0.5];
  const values = isLog ? powers(least, most) : ticks(least, most);
  return {
    axis,
    below,
    names: places.length ? places.map(([place, name]) => ({ place, name })) : ticks(left, right),
    ends: [left, right],
    values: scale === "share" ? values.map(({ place }) => ({ place, name: significant(place, true) })) : values,
    limits: [least, most],
    isLog,
  };
}

/** The least and the largest of numbers, as many as there are. @param {number[]} numbers */
function extremes(numbers) {
  return numbers.reduce(([least, most], each) => [Math.min(least, each), Math.max(most, each)], [Infinity, -Infinity]);
}

/**
 * The powers of ten between two numbers, and 2 and 5 times these if there are few.
 * @param {number} least
 * @param {number} most
 */
function powers(least, most) {
  const factors = most / least < 1000 ? [1, 2, 5] : [1];
  const first = Math.floor(Math.log10(least));
  const places = Array.from({ length: Math.ceil(Math.log10(most)) - first + 1 }, (_, number) =>
    factors.map((factor) => factor * 10 ** (first + number)),
  ).flat();
  return places
    .filter((place) => least <= place && place <= most)
    .map((place) => ({ place, name: significant(place) }));
}

/**
 * Say what the point is that the pointer is nearest to, and put a ring around it.
 * @param {SVGSVGElement} svg
 * @param {CurvesData} data
 * @param {(place: number) => number} x
 * @param {(value: number) => number} y
 */
function readOut(svg, { curves, places, scale }, x, y) {
  const points = curves.flatMap(({ says, points }) => points.flatMap((point) => (point ? [{ says, point }] : [])));
  const layer = vector("g", { class: "hoverlayer" });
  const names = new Map(places);
  svg.append(layer);
  svg.onpointermove = svg.onpointerdown = ({ clientX, clientY }) => {
    const { left, top } = svg.getBoundingClientRect();
    const apart = (/** @type {{ point: Point }} */ { point }) =>
      Math.hypot(x(point[0]) - clientX + left, y(point[1]) - clientY + top);
    if (!points.length) return;
    const { says, point } = points.reduce((nearest, each) => (apart(each) < apart(nearest) ? each : nearest));
    const [place, value] = point;
    const xText = names.get(place) ?? decimal(place, Number.isInteger(place) ? 0 : 3);
    const content = says.replace("{x}", xText).replace("{y}", significant(value, scale === "share"));
    const ring = vector("circle", { cx: x(place), cy: y(value), r: RING });
    const line = vector("text", { x: Number(svg.getAttribute("width")) - 4, y: 10, "text-anchor": "end" }, content);
    layer.replaceChildren(ring, line);
  };
  svg.onpointerleave = ({ pointerType }) => {
    if (pointerType !== "touch") layer.replaceChildren(); // a tap leaves at once
  };
}
