// @ts-check
// A picture of core/analysis/pictures.py.

/** @import { DotsData } from "./dots.js" */
/** @import { GridData } from "./grid.js" */

import { drawDots } from "./dots.js";
import { drawGrid } from "./grid.js";

/**
 * @typedef {({ kind: "dots" } & DotsData) | ({ kind: "grid" } & GridData)} Picture See pictures_data.py.
 * @typedef {{ dot: number } | { row: number, column: number }} PicturePlace
 */

/**
 * @param {HTMLElement} root
 * @param {Picture} data
 * @param {(place: PicturePlace) => void} [onClick]
 * @returns {(() => void) | void}
 */
export function drawPicture(root, data, onClick) {
  if (data.kind === "dots") return drawDots(root, data, (dot) => onClick?.({ dot }));
  drawGrid(root, data, { onCell: onClick ? (row, column) => onClick({ row, column }) : null });
}
