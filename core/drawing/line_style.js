// @ts-check
// How a line shows a weight, in every drawing.

/** @import { Dash } from "./types" */

import { DASHES, element, stroke, vector } from "./dom.js";
import { decimal } from "./numbers.js";
import { tr } from "./texts.js";

const FULL_INK = 5; // pixels, of a line of weight 1
const MOST_OPACITY = 0.85; // lines that cross stay apart
export const SMALL_WEIGHT = 0.05; // smaller weights have a line of dots
const DOTS = { width: 1.5, opacity: 0.5, dash: "1.5 4.5" };

/**
 * The ink of a line, its width times its opacity, is proportional to the weight; it is never thinner than a pixel, since
 * not every screen and printer draws such lines. A small weight would be invisible: its line is of dots, which say that
 * there is a weight and not how large it is.
 * @param {number} weight From -1 to 1; the sign does not count.
 * @param {Dash} [dash] Of a line that is not of dots.
 * @returns {{ width: number, opacity: number, dash: string }} In pixels, the dash as in SVG.
 */
export function lineStyle(weight, dash = "solid") {
  const size = Math.min(Math.abs(weight), 1);
  if (size < SMALL_WEIGHT) return DOTS;
  const width = Math.max((FULL_INK * size) / MOST_OPACITY, 1);
  return { width, opacity: (FULL_INK * size) / width, dash: DASHES[dash] };
}

/**
 * A path that shows a weight.
 * @param {string} d
 * @param {number} weight
 * @param {string} [color] Any CSS colour; by default that of the style sheet.
 * @param {Dash} [dash]
 */
export function weightLine(d, weight, color = "", dash = "solid") {
  const style = lineStyle(weight, dash);
  const attributes = { "stroke-width": style.width, "stroke-opacity": style.opacity, "stroke-dasharray": style.dash };
  return stroke({ d, ...attributes }, color);
}

/** What a line of dots means, for a legend. @param {string} [text] */
export function dotsNote(text = tr("dots: below {weight}", { weight: decimal(SMALL_WEIGHT, 2) })) {
  const entry = element("span", "dots");
  const sample = vector("svg", { viewBox: "0 0 22 4", width: 22, height: 4, "aria-hidden": "true" });
  sample.append(weightLine("M0 2H22", 0, "currentColor"));
  entry.append(sample, element("span", "", text));
  return entry;
}
