// @ts-check
// A picture of core/analysis/pictures.py.

/** @import { BarsData } from "./bars.js" */
/** @import { CurvesData } from "./curves.js" */
/** @import { DotsData, OnPlace } from "./dots.js" */
/** @import { GridData } from "./grid.js" */
/** @import { Modifiers } from "./types" */

import { drawBars } from "./bars.js";
import { drawCurves } from "./curves.js";
import { drawDots } from "./dots.js";
import { drawGrid } from "./grid.js";

/**
 * @typedef {({ kind: "bars" } & BarsData) | ({ kind: "curves" } & CurvesData) | ({ kind: "dots" } & DotsData)} Chart
 * @typedef {Chart | ({ kind: "grid" } & GridData)} Picture See pictures_data.py.
 */

/**
 * @param {HTMLElement} root
 * @param {Picture} data
 * @param {OnPlace} [onPlace]
 * @param {(word: string, modifiers: Modifiers) => void} [onWord] Selects the word that a row belongs to.
 * @returns {(() => void) | void}
 */
export function drawPicture(root, data, onPlace, onWord) {
  if (data.kind === "dots") return drawDots(root, data, (place) => onPlace?.(place));
  if (data.kind === "bars") return drawBars(root, data, (place) => onPlace?.(place));
  if (data.kind === "curves") return drawCurves(root, data);
  drawGrid(root, data, { onCell: onPlace ? (row, column) => onPlace({ row, column }) : null, onWord });
}
