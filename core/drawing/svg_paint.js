// @ts-check
// Colours, gradients and pixels of a page as flat shapes of an SVG: every reader of SVG draws these alike.

import { element } from "./dom.js";

/** @typedef {{ left: number, top: number, width: number, height: number }} Area In pixels of the page. */
/** @typedef {[x: number, y: number]} Point */
/** @typedef {{ from: number, to: number, color: string }} Stripe Along a gradient, in pixels. */

const STRIPES = 48; // of a gradient from one colour to the next, at most
const SIDES = { top: 0, right: 90, bottom: 180, left: 270 }; // degrees, as in style sheets

/** Of one pixel, which turns any colour into red, green, blue and alpha. @type {CanvasRenderingContext2D | null} */
let pixel = null;

/** @type {Map<string, [color: string, opacity: number]>} */
const known = new Map([["none", ["none", 0]]]);

/**
 * A colour in the notation that every reader of SVG knows, and its opacity; mixed ones are in others, as `oklab(...)`.
 * @param {string} value As `getComputedStyle` returns it.
 * @returns {[color: string, opacity: number]}
 */
function plainColor(value) {
  const found = known.get(value);
  if (found) return found;
  pixel ??= /** @type {CanvasRenderingContext2D} */ (element("canvas").getContext("2d", { willReadFrequently: true }));
  pixel.clearRect(0, 0, 1, 1);
  pixel.fillStyle = value;
  pixel.fillRect(0, 0, 1, 1);
  const [red, green, blue, alpha] = pixel.getImageData(0, 0, 1, 1).data;
  /** @type {[string, number]} */
  const plain = [`rgb(${red}, ${green}, ${blue})`, rounded(alpha / 255)];
  known.set(value, plain);
  return plain;
}

/**
 * Attributes of a fill or a stroke; null if there is nothing to see.
 * @param {"fill" | "stroke"} name
 * @param {string} value
 * @param {number} [opacity]
 */
export function paint(name, value, opacity = 1) {
  const [color, own] = plainColor(value);
  const all = rounded(own * opacity);
  return all ? ` ${name}="${color}"${all < 1 ? ` ${name}-opacity="${all}"` : ""}` : null;
}

/** @param {number} value */
export function rounded(value) {
  return Math.round(value * 1000) / 1000;
}

/** @param {readonly Point[]} points @returns {string} A path. */
export function polygon(points) {
  return `M${points.map(([x, y]) => `${rounded(x)} ${rounded(y)}`).join("L")}Z`;
}

/** @param {Area} area @returns {Point[]} */
export function corners({ left, top, width, height }) {
  const [right, bottom] = [left + width, top + height];
  return [[left, top], [right, top], [right, bottom], [left, bottom]]; // prettier-ignore
}

/** The area that a transform moves an area to. @param {Area} area @param {DOMMatrix} matrix @returns {Area} */
export function moved(area, matrix) {
  const [one, , other] = corners(area).map(([x, y]) => new DOMPoint(x, y).matrixTransform(matrix));
  const [left, top] = [Math.min(one.x, other.x), Math.min(one.y, other.y)];
  return { left, top, width: Math.abs(one.x - other.x), height: Math.abs(one.y - other.y) };
}

/**
 * The layers of a value such as `background-image`: its parts between commas that are in no parentheses.
 * @param {string} value
 */
export function layers(value) {
  const parts = [];
  let [depth, start] = [0, 0];
  for (let at = 0; at <= value.length; at++) {
    const letter = value[at] ?? ",";
    if (letter === "(") depth++;
    else if (letter === ")") depth--;
    else if (letter === "," && !depth) {
      parts.push(value.slice(start, at).trim());
      start = at + 1;
    }
  }
  return parts;
}

/**
 * The paths of a gradient, by colour.
 * @param {string} gradient As `linear-gradient(...)` or `repeating-linear-gradient(...)`.
 * @param {Area} tile
 * @param {Map<string, string>} [paths] What is added to.
 */
export function gradientPaths(gradient, tile, paths = new Map()) {
  const { turn, length, stripes } = parsed(gradient, tile);
  const [down, right] = [-Math.cos(turn), Math.sin(turn)];
  const start = [tile.left + tile.width / 2, tile.top + tile.height / 2];
  const along = (/** @type {Point} */ [x, y]) => (x - start[0]) * right + (y - start[1]) * down + length / 2;
  for (const { from, to, color } of stripes) {
    if (!plainColor(color)[1]) continue;
    const begun = cut(corners(tile), (at) => along(at) - from);
    const shape = cut(begun, (at) => to - along(at));
    if (shape.length > 2) paths.set(color, (paths.get(color) ?? "") + polygon(shape));
  }
  return paths;
}

/**
 * The direction of a gradient, its length across a box, and its stripes.
 * @param {string} gradient
 * @param {Area} tile
 */
export function parsed(gradient, { width, height }) {
  const parts = layers(gradient.slice(gradient.indexOf("(") + 1, -1));
  const way = /^to (\w+)$|^(-?[\d.]+)deg$/.exec(parts[0]);
  if (way) parts.shift();
  const degrees = way?.[1] ? SIDES[/** @type {keyof typeof SIDES} */ (way[1])] : Number(way?.[2] ?? 180);
  const turn = (degrees * Math.PI) / 180;
  const length = Math.abs(width * Math.sin(turn)) + Math.abs(height * Math.cos(turn));
  /** @type {{ color: string, at: number | undefined }[]} */
  const stops = parts.flatMap((part) => {
    const [, color, places] = /^(\w+\(.*?\)|\S+)((?: -?[\d.]+(?:px|%))*)$/.exec(part) ?? ["", part, ""];
    const all = places.trim().split(" ");
    return all.map((place) => ({ color, at: place ? inPixels(place, length) : undefined }));
  });
  stops[0].at ??= 0;
  stops[stops.length - 1].at ??= length;
  stops.forEach((stop, index) => {
    if (stop.at !== undefined) return;
    const next = stops.findIndex(({ at }, later) => later > index && at !== undefined);
    const before = stops[index - 1].at ?? 0;
    stop.at = before + ((stops[next].at ?? 0) - before) / (next - index + 1);
  });
  const ends = stops.map(({ color, at = 0 }) => ({ color, at }));
  return { turn, length, stripes: stripes(ends, length, gradient.startsWith("repeating")) };
}

/**
 * @param {{ color: string, at: number }[]} stops
 * @param {number} length
 * @param {boolean} repeats
 * @returns {Stripe[]}
 */
function stripes(stops, length, repeats) {
  const [first, last] = [stops[0], stops[stops.length - 1]];
  const found = stops.slice(1).flatMap(({ color, at }, index) => {
    const before = stops[index];
    const count = before.color === color ? 1 : Math.min(STRIPES, Math.ceil(at - before.at));
    return Array.from({ length: at > before.at ? count : 0 }, (_, step) => ({
      from: before.at + ((at - before.at) * step) / count,
      to: before.at + ((at - before.at) * (step + 1)) / count,
      color: count === 1 ? color : `color-mix(in srgb, ${before.color}, ${color} ${(100 * (step + 0.5)) / count}%)`,
    }));
  });
  const period = last.at - first.at;
  if (!repeats || period <= 0) {
    const [before, after] = [
      { from: 0, to: first.at, color: first.color },
      { from: last.at, to: length, color: last.color },
    ];
    return [before, ...found, after].filter(({ from, to }) => to > from);
  }
  const times = Array.from({ length: Math.ceil((length - first.at) / period) }, (_, time) => time * period);
  return times.flatMap((by) => found.map(({ from, to, color }) => ({ from: from + by, to: to + by, color })));
}

/**
 * The part of a convex shape where a distance is not negative.
 * @param {readonly Point[]} shape
 * @param {(point: Point) => number} distance
 * @returns {Point[]}
 */
function cut(shape, distance) {
  return shape.flatMap((point, index) => {
    const next = shape[(index + 1) % shape.length];
    const [here, there] = [distance(point), distance(next)];
    const share = here / (here - there);
    /** @type {Point} */
    const crossing = [point[0] + (next[0] - point[0]) * share, point[1] + (next[1] - point[1]) * share];
    return [...(here >= 0 ? [point] : []), ...(here * there < 0 ? [crossing] : [])];
  });
}

/**
 * @param {string} value Such as `12px`, `50%` or `auto`.
 * @param {number} whole
 * @returns {number} Pixels; NaN for `auto`.
 */
export function inPixels(value, whole) {
  return value.endsWith("%") ? (parseFloat(value) / 100) * whole : parseFloat(value);
}

/**
 * The paths of the pixels of a picture, by colour: runs of equal ones are one rectangle.
 * @param {CanvasImageSource} picture
 * @param {Area} from Its part that is drawn, in its own pixels.
 * @param {Area} to
 * @returns {Map<string, string>}
 */
export function pixelPaths(picture, from, to) {
  const { width, height } = from;
  const canvas = element("canvas");
  Object.assign(canvas, { width, height });
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d", { willReadFrequently: true }));
  context.drawImage(picture, from.left, from.top, width, height, 0, 0, width, height);
  const pixels = new Uint32Array(context.getImageData(0, 0, width, height).data.buffer);
  const same = (/** @type {number} */ row, /** @type {number} */ other) => {
    for (let column = 0; column < width; column++) {
      if (pixels[row * width + column] !== pixels[other * width + column]) return false;
    }
    return true;
  };
  const across = (/** @type {number} */ column) => rounded(to.left + (column * to.width) / width);
  const down = (/** @type {number} */ row) => rounded(to.top + (row * to.height) / height);
  /** @type {Map<number, string[]>} */
  const runs = new Map();
  for (let row = 0, next; row < height; row = next) {
    next = row + 1;
    while (next < height && same(row, next)) next++;
    for (let column = 0, stop; column < width; column = stop) {
      const color = pixels[row * width + column];
      stop = column + 1;
      while (stop < width && pixels[row * width + stop] === color) stop++;
      if (color >>> 24 === 0) continue;
      const run = `M${across(column)} ${down(row)}H${across(stop)}V${down(next)}H${across(column)}Z`;
      const known = runs.get(color);
      if (known) known.push(run);
      else runs.set(color, [run]);
    }
  }
  const name = (/** @type {number} */ color) => {
    const [red, green, blue, alpha] = [0, 8, 16, 24].map((shift) => (color >>> shift) & 255);
    return `rgba(${red}, ${green}, ${blue}, ${rounded(alpha / 255)})`;
  };
  return new Map([...runs].map(([color, parts]) => [name(color), parts.join("")]));
}
