// @ts-check
// The head to show first: that of cross-attention which agrees most with the consensus of the upper layers, as
// core/analysis/alignment/first_head.py has it for words, here for tokens.

/** @import { HeadWeights } from "./transformer.js" */

/** @param {HeadWeights[]} layers Of cross-attention. @returns {{ layer: number, head: number }} */
export function firstHead(layers) {
  const [numRows, numKeys] = [layers[0][0].length - 1, layers[0][0][0].length - 1]; // without `</s>`
  const upper = layers.slice(Math.floor(layers.length / 2)).flat();
  const consensus = Array.from({ length: numRows }, (_, row) =>
    Array.from({ length: numKeys }, (_, key) => upper.reduce((sum, rows) => sum + rows[row][key], 0)),
  );
  const attracted = consensus[0].map((_, key) => consensus.reduce((sum, row) => sum + row[key], 1e-9));
  const links = consensus.map((row) => largest(row.map((weight, key) => weight / Math.sqrt(attracted[key]))));
  const agreement = layers.map((heads) =>
    heads.map((rows) =>
      links.reduce((sum, link, row) => {
        const own = [...rows[row].subarray(0, numKeys)];
        return largest(own) === link ? sum + Math.sqrt(own[link]) : sum;
      }, 0),
    ),
  );
  const layer = largest(agreement.map((heads) => Math.max(...heads)));
  return { layer, head: largest(agreement[layer]) };
}

/** @param {readonly number[]} values @returns {number} The index of the largest. */
function largest(values) {
  return values.reduce((best, value, index) => (value > values[best] ? index : best), 0);
}
