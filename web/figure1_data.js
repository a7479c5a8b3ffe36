// @ts-check
// An explanation as data of Figure 1; `figure1_data` in core/drawing/figure1.py, in the browser.

/** @import { Figure1Data, Figure1Word } from "../core/drawing/types" */
/** @import { Explanation } from "./translator.js" */
/** @import { HeadWeights } from "./transformer.js" */

import { isSpecial, labels } from "./labels.js";

const [STEPS, MASKED, MAX_CELL] = [254, 255, 48]; // as there

/** @param {Explanation} explanation @returns {Omit<Figure1Data, "model" | "code" | "scale">} */
export function figure1Data({ source, fed, predicted, alternatives, weights }) {
  const maps = (/** @type {HeadWeights[]} */ layers, /** @type {number} */ numKeys) => ({
    rows: Math.min(layers[0][0].length, MAX_CELL),
    columns: Math.min(numKeys, MAX_CELL),
    layers: layers.map((heads) => encodedMap(heads, numKeys)),
  });
  return {
    source: words(source),
    fed: words(fed),
    predicted: words(predicted),
    options: alternatives.map((row, position) =>
      row.map(([token, logProb]) => ({
        token,
        spans: labels([token])[0],
        probability: Math.exp(logProb),
        predicted: token === predicted[position],
      })),
    ),
    maps: {
      encoder_self: maps(weights.encoder_self, source.length),
      decoder_self: maps(weights.decoder_self, fed.length),
      cross: maps(weights.cross, source.length),
    },
  };
}

/** @param {readonly string[]} tokens @returns {Figure1Word[]} */
function words(tokens) {
  return labels(tokens).map((spans, position) => ({
    spans,
    name: spans.map(([text]) => text).join(""),
    glued: position > 0 && !tokens[position].startsWith("\u2581") && !isSpecial(tokens[position]),
  }));
}

/** @param {HeadWeights} heads @param {number} numKeys */
function encodedMap(heads, numKeys) {
  const rows = Math.min(heads[0].length, MAX_CELL);
  const columns = Math.min(numKeys, MAX_CELL);
  const bytes = new Uint8Array(heads.length * rows * columns).fill(MASKED);
  heads.forEach((queries, head) =>
    queries.forEach((row, query) =>
      row.forEach((weight, key) => {
        const [up, across] = [Math.floor((query * rows) / queries.length), Math.floor((key * columns) / numKeys)];
        const place = (head * rows + up) * columns + across;
        const step = Math.round(weight * STEPS);
        bytes[place] = bytes[place] === MASKED ? step : Math.max(bytes[place], step);
      }),
    ),
  );
  return btoa(bytes.reduce((text, byte) => text + String.fromCharCode(byte), ""));
}
