// @ts-check
// Beam search (6.1), as core/decoding/beam.py has it; a beam of one is greedy search.

/** @import { Memory, Transformer } from "./transformer.js" */

import { logSoftmax } from "./transformer.js";

/**
 * @typedef {object} Hypothesis
 * @property {number[]} ids Without `<s>`; the last is `</s>` if it is finished.
 * @property {number} logProb
 * @property {number} score `logProb` divided by ((5 + length) / 6)^lengthPenalty (Wu et al. 2016).
 * @property {number[]} rows Of the memory, of its tokens that were fed. */

/**
 * @param {Transformer} model
 * @param {Memory} memory Of `encode`.
 * @param {number} limit Largest number of tokens.
 * @param {{ beamSize: number, lengthPenalty: number, prefix?: readonly number[] }} options Scores include a forced prefix.
 * @returns {Hypothesis[]} As many as the beam has, best first.
 */
export function beamSearch(model, memory, limit, { beamSize, lengthPenalty, prefix = [] }) {
  const { eos_id, bos_id, pad_id } = model.config;
  const scored = (/** @type {number} */ logProb, /** @type {number} */ length) =>
    logProb / ((5 + length) / 6) ** lengthPenalty;
  /** @type {Hypothesis[]} */
  let live = [{ ids: [], logProb: 0, score: 0, rows: [] }];
  /** @type {Hypothesis[]} */
  let finished = [];
  for (let position = 0; position < limit && live.length && finished.length < beamSize; position++) {
    const first = memory[0].self.keys.length;
    const beginnings = live.map(({ rows }, index) => [...rows, first + index]);
    const fed = live.map(({ ids }) => ids.at(-1) ?? bos_id);
    const positions = live.map(() => position);
    const { logits } = model.decode(memory, fed, positions, beginnings);
    const width = logits.length / live.length;
    const candidates = live.flatMap((hypothesis, parent) => {
      const logProbs = logSoftmax(logits.subarray(parent * width, (parent + 1) * width));
      for (const never of [pad_id, bos_id]) logProbs[never] = -Infinity;
      const next = position < prefix.length ? [prefix[position]] : best(logProbs, 2 * beamSize);
      return next.map((id) => ({ parent, id, logProb: hypothesis.logProb + logProbs[id] }));
    });
    candidates.sort((a, b) => b.logProb - a.logProb);
    /** @type {Hypothesis[]} */
    const survivors = [];
    candidates.slice(0, 2 * beamSize).forEach(({ parent, id, logProb }, rank) => {
      const ids = [...live[parent].ids, id];
      const continued = { ids, logProb, score: scored(logProb, ids.length), rows: beginnings[parent] };
      if (id !== eos_id && survivors.length < beamSize) survivors.push(continued);
      if (id === eos_id && rank < beamSize) finished.push(continued);
    });
    finished = finished.sort((a, b) => b.score - a.score);
    live = survivors;
  }
  return [...finished, ...live].slice(0, beamSize);
}

/** Indices of the largest values, largest first. @param {Float32Array} values @param {number} count */
export function best(values, count) {
  /** @type {number[]} */
  const found = [];
  values.forEach((value, index) => {
    if (found.length === count && value <= values[found[count - 1]]) return;
    const place = found.findIndex((other) => value > values[other]);
    found.splice(place < 0 ? found.length : place, 0, index);
    found.length = Math.min(found.length, count);
  });
  return found;
}
