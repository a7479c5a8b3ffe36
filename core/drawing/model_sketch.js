// @ts-check
// Both stacks of a model in the size of a stamp, with the place lit that a page shows.

/** @import { Kind, SketchData, SketchPlace } from "./types" */

import { vector } from "./dom.js";

const SIZE = { width: 150, stack: 58, layers: 92, ends: 14, margin: 2 }; // pixels

/** @param {SketchData} data @param {SketchPlace} place @returns {SVGSVGElement} */
export function modelSketch({ encoder, decoder }, place) {
  const { width, stack, layers, ends, margin } = SIZE;
  const height = layers + 2 * ends + 2 * margin;
  const svg = vector("svg", {
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    class: "sketch",
    "aria-hidden": "true",
  });
  const top = margin + ends;
  const right = width - margin - stack;
  svg.append(
    ...stackOf(margin, top, encoder, ["encoder_self"], place),
    ...stackOf(right, top, decoder, ["decoder_self", "cross"], place),
    memory(top, decoder, place.kinds.includes("cross")),
    ...[0, 1, 2, 3].flatMap((word) => [
      bar(margin + 4 + word * 13, top + layers + 7, 10, 3, place.inputs),
      bar(right + 4 + word * 13, top + layers + 7, 10, 3, place.inputs),
    ]),
    ...[9, 5, 3, 2].map((high, word) => bar(right + 14 + word * 8, margin + 10 - high, 5, high, place.output)),
  );
  return svg;
}

/**
 * @param {number} x
 * @param {number} top
 * @param {number} count Of layers.
 * @param {Kind[]} kinds From below.
 * @param {SketchPlace} place
 */
function stackOf(x, top, count, kinds, place) {
  const { stack, layers } = SIZE;
  const pitch = (layers - 4) / count;
  const high = Math.max(0.8, (pitch - 2) / kinds.length - 0.8);
  const frame = vector("rect", { x, y: top, width: stack, height: layers, rx: 4, class: "frame" });
  const bars = Array.from({ length: count }, (_, layer) =>
    kinds.map((kind, number) => {
      const lit = place.kinds.includes(kind) && (place.layer === null || place.layer === layer);
      return bar(x + 4, top + layers - 2 - layer * pitch - (number + 1) * (high + 0.8), stack - 8, high, lit);
    }),
  );
  return [frame, ...bars.flat()];
}

/** @param {number} top @param {number} count @param {boolean} lit */
function memory(top, count, lit) {
  const { width, stack, layers, margin } = SIZE;
  const pitch = (layers - 4) / count;
  const ends = Array.from({ length: count }, (_, layer) => top + layers - 2 - (layer + 0.7) * pitch);
  const from = margin + stack / 2;
  const branches = ends.map((y) => `M${width / 2} ${y}H${width - margin - stack}`).join("");
  const d = `M${from} ${top}V${top - 6}H${width / 2}V${Math.max(...ends)}${branches}`;
  return vector("path", { d, class: lit ? "wire lit" : "wire" });
}

/** @param {number} x @param {number} y @param {number} width @param {number} height @param {boolean} lit */
function bar(x, y, width, height, lit) {
  return vector("rect", { x, y, width, height, rx: Math.min(1, height / 2), class: lit ? "lit" : "bar" });
}
