// @ts-check
// The models, in a thread of their own: opens a checkpoint, translates and explains sentences.

/** @import { HeadWeights } from "./transformer.js" */
/** @import { Span } from "../core/drawing/types" */

import { figure1Data } from "./figure1_data.js";
import { firstHead } from "./first_head.js";
import { fastKernel, plainKernel } from "./kernel.js";
import { labels } from "./labels.js";
import { Translator } from "./translator.js";

const STEPS = 32767; // an encoded weight of 1, see core/drawing/drawing_data.py
const NO_WEIGHT = -32768;

/**
 * @typedef {object} Request
 * @property {number} number
 * @property {string} model
 * @property {ArrayBuffer} [file] Of a model that was not open.
 * @property {ArrayBuffer} [kernel] With the first file.
 * @property {string} text
 * @property {number} beamSize
 * @property {number[]} prefix Tokens that the translation is forced to begin with.
 *
 * @typedef {{ id: number, spans: Span[], logProb: number, others: Omit<Predicted, "others">[] }} Predicted
 * @typedef {object} Answer
 * @property {number} number Of the request.
 * @property {string} [refused] Why there is no translation.
 * @property {string[]} unseen Characters that the vocabulary lacks and the translation lacks: `not_copied` in core.
 * @property {{ text: string, logProb: number, score: number }[]} hypotheses Best first.
 * @property {Predicted[]} predicted
 * @property {Record<string, { query: Span[][], key: Span[][], predicted: Span[][] | null, weights: string[][] }>} kinds
 * @property {ReturnType<typeof figure1Data>} figure1
 * @property {{ layer: number, head: number }} first Head of cross-attention.
 */

/** @type {Map<string, Translator>} */
const translators = new Map();

self.onmessage = ({ data }) => {
  try {
    self.postMessage(answer(data));
  } catch (error) {
    const refused = error instanceof RangeError ? error.message : String(error);
    self.postMessage({ number: data.number, refused });
  }
};

/** @param {Request} request @returns {Answer} */
function answer({ number, model, file, kernel, text, beamSize, prefix }) {
  if (file) translators.set(model, new Translator(file, kernel ? fastKernel(kernel) : plainKernel()));
  const translator = /** @type {Translator} */ (translators.get(model));
  const hypotheses = translator.translate(text, { beamSize, lengthPenalty: 0.6, prefix });
  const explained = translator.explain(text, hypotheses[0].ids);
  const [source, fed, predicted] = [explained.source, explained.fed, explained.predicted].map(labels);
  const { encoder_self, decoder_self, cross } = explained.weights;
  const kinds = {
    encoder_self: { query: source, key: source, predicted: null, weights: encoded(encoder_self, source.length) },
    decoder_self: { query: fed, key: fed, predicted, weights: encoded(decoder_self, fed.length) },
    cross: { query: fed, key: source, predicted, weights: encoded(cross, source.length) },
  };
  return {
    number,
    unseen: translator.tokenizer.unseen(text).filter((one) => /\p{L}/u.test(one) || !hypotheses[0].text.includes(one)),
    hypotheses: hypotheses.map(({ text, logProb, score }) => ({ text, logProb, score })),
    predicted: predicted.map((spans, at) => ({
      id: hypotheses[0].ids[at] ?? translator.model.config.eos_id,
      spans,
      logProb: explained.logProbs[at],
      others: explained.alternatives[at].map(([token, logProb, id]) => ({ id, spans: labels([token])[0], logProb })),
    })),
    kinds,
    figure1: figure1Data(explained, kinds),
    first: firstHead(cross),
  };
}

/** @param {HeadWeights[]} layers @param {number} numKeys @returns {string[][]} As the drawings take them. */
function encoded(layers, numKeys) {
  return layers.map((heads) =>
    heads.map((rows) => {
      const steps = rows.flatMap((row) =>
        Array.from({ length: numKeys }, (_, key) => (key < row.length ? Math.round(row[key] * STEPS) : NO_WEIGHT)),
      );
      const bytes = new Uint8Array(Int16Array.from(steps).buffer);
      return btoa(bytes.reduce((text, byte) => text + String.fromCharCode(byte), ""));
    }),
  );
}
