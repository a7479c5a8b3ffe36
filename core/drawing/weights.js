// @ts-check
// Attention weights in a browser: as numbers, as colours, and as lines.

/** @import { Head, HeadData } from "./types" */

import { mixed, stopsOf } from "./shades.js";

const STEPS = 32767; // an encoded weight of 1, see drawing_data.py
const NO_WEIGHT = -32768;
const SHADES = 1000; // colours from the low end of a scale to the high one

/**
 * @param {string} text Encoded by `encoded_weights` of drawing_data.py.
 * @returns {Float32Array} NaN where the query cannot attend to the key, which is masked.
 */
export function decodedWeights(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const steps = new Int16Array(bytes.buffer);
  return Float32Array.from(steps, (step) => (step === NO_WEIGHT ? NaN : step / STEPS));
}

/** @param {HeadData} head @returns {Head} */
export function decodedHead(head) {
  return { ...head, weights: decodedWeights(head.weights), hidden: head.hidden ? decodedWeights(head.hidden) : null };
}

/**
 * Paint weights, a pixel each; NaN stays transparent.
 * @param {HTMLCanvasElement} canvas
 * @param {Float32Array} weights Row by row.
 * @param {number} columns
 * @param {readonly string[]} scale Colours (#rrggbb), evenly spaced from `low` to 1.
 * @param {-1 | 0} [low]
 */
export function paintWeights(canvas, weights, columns, scale, low = 0) {
  Object.assign(canvas, { width: columns, height: weights.length / columns });
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const image = context.createImageData(canvas.width, canvas.height);
  const stops = stopsOf(scale);
  const shades = Array.from({ length: SHADES + 1 }, (_, step) => [...mixed(stops, step / SHADES), 255]);
  weights.forEach((weight, cell) => {
    const share = Math.min(Math.max((weight - low) / (1 - low), 0), 1);
    if (!Number.isNaN(weight)) image.data.set(shades[Math.round(share * SHADES)], 4 * cell);
  });
  context.putImageData(image, 0, 0);
}

/**
 * Weights of one head that get a line.
 * @param {Float32Array} weights [Q, K], row by row.
 * @param {number} columns
 * @param {number} minWeight Smaller ones get none; 0 never does.
 * @param {number | null} [topMass] Of each row the largest weights until they reach this share of its sum.
 * @returns {{ query: number, key: number, weight: number }[]}
 */
export function lineWeights(weights, columns, minWeight, topMass) {
  const lines = [];
  for (let query = 0; query < weights.length / columns; query++) {
    const row = weights.subarray(query * columns, (query + 1) * columns);
    const visible = [...row.keys()].filter((key) => !Number.isNaN(row[key]));
    const mass = topMass == null ? Infinity : topMass * visible.reduce((sum, key) => sum + row[key], 0);
    let drawn = 0; // weight of the lines so far
    for (const key of visible.sort((a, b) => row[b] - row[a])) {
      const weight = row[key];
      if (weight <= 0 || weight < minWeight || drawn >= mass) break;
      lines.push({ query, key, weight });
      drawn += weight;
    }
  }
  return lines;
}

const LEAST_SHARE = 0.005; // smaller ones would be written as 0

/**
 * The weights of a row on hidden tokens, one for each part of the keys; null in place of one that is not written.
 * @param {Pick<Head, "hidden">} head
 * @param {number} row
 * @param {number} rows
 * @returns {(number | null)[]}
 */
export function hiddenShares({ hidden }, row, rows) {
  const parts = (hidden?.length ?? 0) / rows;
  return Array.from({ length: parts }, (_, part) => hiddenShare({ hidden }, row * parts + part));
}

/**
 * The weight of a row on hidden tokens, as of `<s>`; null if it would be written as 0, or none are hidden.
 * @param {Pick<Head, "hidden">} head
 * @param {number} row
 */
export function hiddenShare({ hidden }, row) {
  const share = hidden?.[row];
  return share === undefined || !(Math.abs(share) >= LEAST_SHARE) ? null : share;
}
