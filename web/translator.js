// @ts-check
// A sentence to its translations; search finds them, one teacher-forced pass explains one of them.

/** @import { HeadWeights } from "./transformer.js" */
/** @import { Kernel } from "./kernel.js" */

import { readCheckpoint } from "./checkpoint.js";
import { beamSearch, best } from "./search.js";
import { Tokenizer } from "./tokenizer.js";
import { Transformer, logSoftmax } from "./transformer.js";

const [MAX_SOURCE_TOKENS, MAX_EXTRA_TOKENS, NUM_ALTERNATIVES] = [512, 50, 5];

/**
 * @typedef {object} Explanation
 * @property {string[]} source Tokens, `</s>` last.
 * @property {string[]} fed Tokens fed to the decoder, `<s>` first.
 * @property {string[]} predicted Tokens predicted at the same positions, `</s>` last.
 * @property {number[]} logProbs Of the predicted tokens, in nats.
 * @property {[token: string, logProb: number, id: number][][]} alternatives The most probable tokens at each position.
 * @property {{ encoder_self: HeadWeights[], decoder_self: HeadWeights[], cross: HeadWeights[] }} weights
 */

export class Translator {
  /** @param {ArrayBuffer} file @param {Kernel} kernel */
  constructor(file, kernel) {
    const { config, tensors, tokenizer } = readCheckpoint(file);
    this.tokenizer = new Tokenizer(tokenizer);
    this.model = new Transformer(config, tensors, kernel);
  }

  /**
   * @param {string} text
   * @param {{ beamSize: number, lengthPenalty: number, prefix?: readonly number[] }} options
   * @returns {{ text: string, ids: number[], logProb: number, score: number }[]} Best first.
   */
  translate(text, options) {
    const source = this.sourceIds(text);
    if (options.prefix?.some((id) => this.tokenizer.pieces[id] === undefined))
      throw new RangeError("the forced words are those of another model");
    const { memory } = this.model.encode(source);
    return beamSearch(this.model, memory, source.length + MAX_EXTRA_TOKENS, options).map((hypothesis) => ({
      ...hypothesis,
      text: this.tokenizer.decode(hypothesis.ids.filter((id) => id !== this.model.config.eos_id)),
    }));
  }

  /** @param {string} text @param {readonly number[]} ids Of a translation. @returns {Explanation} */
  explain(text, ids) {
    const { bos_id, eos_id, vocab_size } = this.model.config;
    const target = ids.filter((id) => id !== eos_id);
    const [source, fed, predicted] = [this.sourceIds(text), [bos_id, ...target], [...target, eos_id]];
    const { memory, weights } = this.model.encode(source);
    const positions = [...fed.keys()];
    const beginnings = positions.map((position) => positions.slice(0, position + 1));
    const { logits, selfWeights, crossWeights } = this.model.decode(memory, fed, positions, beginnings);
    const logProbs = positions.map((row) => logSoftmax(logits.subarray(row * vocab_size, (row + 1) * vocab_size)));
    return {
      source: this.pieces(source),
      fed: this.pieces(fed),
      predicted: this.pieces(predicted),
      logProbs: predicted.map((id, row) => logProbs[row][id]),
      alternatives: logProbs.map((row) =>
        best(row, NUM_ALTERNATIVES).map((id) => [this.tokenizer.pieces[id], row[id], id]),
      ),
      weights: { encoder_self: weights, decoder_self: selfWeights, cross: crossWeights },
    };
  }

  /** @param {string} text */
  sourceIds(text) {
    if (/\p{Surrogate}/u.test(text))
      throw new RangeError("a half of a character, a lone surrogate, cannot be translated");
    const ids = this.tokenizer.encode(text);
    if (!ids.length) throw new RangeError("there is nothing to translate");
    if (ids.length >= MAX_SOURCE_TOKENS) {
      throw new RangeError(`${ids.length + 1} tokens, at most ${MAX_SOURCE_TOKENS} can be translated at once`);
    }
    return [...ids, this.model.config.eos_id];
  }

  /** @param {readonly number[]} ids */
  pieces(ids) {
    return ids.map((id) => this.tokenizer.pieces[id]);
  }
}
