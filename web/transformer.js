// @ts-check
// The Transformer (section 3 of "Attention Is All You Need"), in the paper's order. A matrix is a Float32Array, row by row.

/** @import { Config, Tensor } from "./checkpoint.js" */
/** @import { Kernel, Linear } from "./kernel.js" */

/**
 * @typedef {Float32Array[][]} HeadWeights By head and query: the weights of the keys that it may attend to.
 * @typedef {(x: Float32Array) => Float32Array} Layer
 * @typedef {{ keys: Float32Array[], values: Float32Array[] }} Rows One for each position.
 * @typedef {{ self: Rows, cross: Rows }} Remembered Of a decoder layer.
 * @typedef {Remembered[]} Memory
 */

const EPSILON = 1e-5; // of layer normalisation

export class Transformer {
  /** @param {Config} config @param {Map<string, Tensor>} tensors @param {Kernel} kernel */
  constructor(config, tensors, kernel) {
    const tensor = (/** @type {string} */ name) => /** @type {Tensor} */ (tensors.get(name));
    const linear = (/** @type {string} */ name) => kernel.linear(tensor(`${name}.weight`), tensor(`${name}.bias`));
    const norm = (/** @type {string} */ name) =>
      layerNorm(tensor(`${name}.weight`).values, tensor(`${name}.bias`).values);
    const heads = (/** @type {string} */ name) => ({
      query: linear(`${name}.q_proj`),
      key: linear(`${name}.k_proj`),
      value: linear(`${name}.v_proj`),
      out: linear(`${name}.out_proj`),
      norm: norm(`${name}_norm`),
    });
    const network = (/** @type {string} */ name) => ({
      inner: linear(`${name}.inner`),
      outer: linear(`${name}.outer`),
      norm: norm(`${name}_norm`),
    });
    const layers = (/** @type {string} */ stack, /** @type {number} */ count) =>
      Array.from({ length: count }, (_, index) => `${stack}.layers.${index}`);
    this.config = config;
    this.embeddings = tensor("embedding.tokens.weight").values;
    this.encoder = layers("encoder", config.num_encoder_layers).map((name) => ({
      attention: heads(`${name}.self_attention`),
      network: network(`${name}.feed_forward`),
    }));
    this.decoder = layers("decoder", config.num_decoder_layers).map((name) => ({
      attention: heads(`${name}.self_attention`),
      crossAttention: heads(`${name}.cross_attention`),
      network: network(`${name}.feed_forward`),
    }));
    /** The embeddings, transposed (3.4). */
    this.generator = kernel.linear(tensor("embedding.tokens.weight"));
  }

  /**
   * The encoder (3.1).
   * @param {readonly number[]} tokenIds
   * @returns {{ memory: Memory, weights: HeadWeights[] }} What the decoder attends to; the weights of each layer.
   */
  encode(tokenIds) {
    const positions = [...tokenIds.keys()];
    const everything = positions.map(() => positions);
    /** @type {Float32Array} */
    let x = this.embedded(tokenIds, positions);
    const weights = this.encoder.map(({ attention, network }) => {
      const rows = { keys: this.rows(attention.key(x)), values: this.rows(attention.value(x)) };
      const heads = this.attend(attention.query(x), rows, everything);
      x = attention.norm(sum(x, attention.out(heads.output)));
      x = feedForward(network, x);
      return heads.weights;
    });
    const memory = this.decoder.map(({ crossAttention }) => ({
      self: { keys: [], values: [] },
      cross: { keys: this.rows(crossAttention.key(x)), values: this.rows(crossAttention.value(x)) },
    }));
    return { memory, weights };
  }

  /**
   * The decoder (3.1), for some tokens, whose keys and values it adds to the memory.
   * @param {Memory} memory
   * @param {readonly number[]} tokenIds
   * @param {readonly number[]} positions Of the tokens.
   * @param {readonly number[][]} visible The rows of the memory that each may attend to: its own beginning, and itself.
   * @returns {{ logits: Float32Array, selfWeights: HeadWeights[], crossWeights: HeadWeights[] }}
   */
  decode(memory, tokenIds, positions, visible) {
    const source = [...memory[0].cross.keys.keys()];
    const everything = tokenIds.map(() => source);
    /** @type {Float32Array} */
    let x = this.embedded(tokenIds, positions);
    const [selfWeights, crossWeights] = [/** @type {HeadWeights[]} */ ([]), /** @type {HeadWeights[]} */ ([])];
    this.decoder.forEach(({ attention, crossAttention, network }, index) => {
      const { self, cross } = memory[index];
      self.keys.push(...this.rows(attention.key(x)));
      self.values.push(...this.rows(attention.value(x)));
      const heads = this.attend(attention.query(x), self, visible);
      x = attention.norm(sum(x, attention.out(heads.output)));
      const crossHeads = this.attend(crossAttention.query(x), cross, everything);
      x = crossAttention.norm(sum(x, crossAttention.out(crossHeads.output)));
      x = feedForward(network, x);
      selfWeights.push(heads.weights);
      crossWeights.push(crossHeads.weights);
    });
    return { logits: this.generator(x), selfWeights, crossWeights };
  }

  /**
   * softmax(Q K^T / sqrt(d_k)) V (3.2.1), in every head (3.2.2).
   * @param {Float32Array} queries
   * @param {Rows} rows
   * @param {readonly number[][]} visible Rows that each query may attend to.
   * @returns {{ output: Float32Array, weights: HeadWeights }}
   */
  attend(queries, { keys, values }, visible) {
    const { d_model, num_heads } = this.config;
    const width = d_model / num_heads;
    const output = new Float32Array(queries.length);
    const weights = Array.from({ length: num_heads }, (_, head) =>
      visible.map((places, query) => {
        const start = query * d_model + head * width;
        const scores = Float32Array.from(places, (place) => {
          let score = 0;
          for (let i = 0, j = head * width; i < width; i++, j++) score += queries[start + i] * keys[place][j];
          return score / Math.sqrt(width);
        });
        const row = softmax(scores);
        places.forEach((place, index) => {
          for (let i = 0, j = head * width; i < width; i++, j++) output[start + i] += row[index] * values[place][j];
        });
        return row;
      }),
    );
    return { output, weights };
  }

  /**
   * sqrt(d_model) * embedding (3.4) + sines and cosines of the position (3.5).
   * @param {readonly number[]} tokenIds
   * @param {readonly number[]} positions
   */
  embedded(tokenIds, positions) {
    const { d_model } = this.config;
    return Float32Array.from({ length: tokenIds.length * d_model }, (_, at) => {
      const [row, column] = [Math.floor(at / d_model), at % d_model];
      const angle = positions[row] / 10000 ** ((column - (column % 2)) / d_model);
      const embedding = this.embeddings[tokenIds[row] * d_model + column];
      return Math.sqrt(d_model) * embedding + (column % 2 ? Math.cos(angle) : Math.sin(angle));
    });
  }

  /** @param {Float32Array} matrix */
  rows(matrix) {
    const { d_model } = this.config;
    return Array.from({ length: matrix.length / d_model }, (_, row) =>
      matrix.subarray(row * d_model, (row + 1) * d_model),
    );
  }
}

/**
 * max(0, x W1 + b1) W2 + b2 (3.3), in its residual connection.
 * @param {{ inner: Linear, outer: Linear, norm: Layer }} network
 * @param {Float32Array} x
 */
function feedForward({ inner, outer, norm }, x) {
  return norm(sum(x, outer(inner(x).map((value) => Math.max(value, 0)))));
}

/** @param {Float32Array} a @param {Float32Array} b */
function sum(a, b) {
  return a.map((value, index) => value + b[index]);
}

/** Layer normalisation (Ba et al. 2016). @param {Float32Array} gain @param {Float32Array} offset @returns {Layer} */
function layerNorm(gain, offset) {
  const width = gain.length;
  return (x) => {
    const y = new Float32Array(x.length);
    for (let start = 0; start < x.length; start += width) {
      let [mean, variance] = [0, 0];
      for (let i = start; i < start + width; i++) mean += x[i] / width;
      for (let i = start; i < start + width; i++) variance += (x[i] - mean) ** 2 / width;
      const scale = 1 / Math.sqrt(variance + EPSILON);
      for (let i = 0; i < width; i++) y[start + i] = (x[start + i] - mean) * scale * gain[i] + offset[i];
    }
    return y;
  };
}

/** @param {Float32Array} scores */
function softmax(scores) {
  const most = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - most));
  const total = powers.reduce((left, right) => left + right, 0);
  return powers.map((power) => power / total);
}

/** @param {Float32Array} logits */
export function logSoftmax(logits) {
  const most = logits.reduce((left, right) => Math.max(left, right));
  const total = logits.reduce((left, right) => left + Math.exp(right - most), 0);
  return logits.map((logit) => logit - most - Math.log(total));
}
