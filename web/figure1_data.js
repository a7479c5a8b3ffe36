// @ts-check
// An explanation as data of Figure 1; `figure1_data` in core/drawing/figure1.py, in the browser.

/** @import { Figure1Data, Figure1Word, Kind } from "../core/drawing/types" */
/** @import { Explanation } from "./translator.js" */

import { isSpecial, labels } from "./labels.js";

/**
 * @param {Explanation} explanation
 * @param {Record<Kind, { query: unknown[], key: unknown[], weights: string[][] }>} kinds With the weights of all heads.
 * @returns {Omit<Figure1Data, "model" | "code" | "scale">}
 */
export function figure1Data({ source, fed, predicted, alternatives }, kinds) {
  const maps = (/** @type {Kind} */ kind) => {
    const { query, key, weights } = kinds[kind];
    const [rows, columns] = [query.length, key.length];
    // all but masked self-attention see every key: models of restricted attention are not on the page
    const visible =
      kind === "decoder_self" ? query.map((_, row) => [row, row + 1, 0, row + 1]) : [[0, rows, 0, columns]];
    return { rows, columns, visible, layers: weights };
  };
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
    maps: { encoder_self: maps("encoder_self"), decoder_self: maps("decoder_self"), cross: maps("cross") },
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
