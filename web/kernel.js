// @ts-check
// Products with the model's matrices: by WebAssembly with SIMD (kernel.c), or where it is missing by JavaScript.

/** @import { Tensor } from "./checkpoint.js" */

/**
 * @typedef {(rows: Float32Array) => Float32Array} Linear x -> x W^T + b of each row of x, [rows, inputs] -> [rows, outputs].
 *
 * @typedef {object} Kernel
 * @property {(weight: Tensor, bias?: Tensor) => Linear} linear Of a matrix [outputs, inputs], which it keeps.
 */

const PAGE = 2 ** 16; // bytes of WebAssembly's pages of memory

/** @returns {Kernel} */
export function plainKernel() {
  const linear = (/** @type {Tensor} */ { shape, values }, /** @type {Tensor | undefined} */ bias) => {
    const [outputs, inputs] = shape;
    return (/** @type {Float32Array} */ x) => {
      const y = new Float32Array((x.length / inputs) * outputs);
      for (let at = 0; at < y.length; at++) {
        const [output, start] = [at % outputs, Math.floor(at / outputs) * inputs];
        let sum = bias ? bias.values[output] : 0;
        for (let i = 0, j = output * inputs; i < inputs; i++, j++) sum += x[start + i] * values[j];
        y[at] = sum;
      }
      return y;
    };
  };
  return { linear };
}

/**
 * @param {BufferSource} code kernel.c, compiled.
 * @returns {Kernel} The plain one if this browser has no WebAssembly with SIMD.
 */
export function fastKernel(code) {
  if (typeof WebAssembly !== "object" || !WebAssembly.validate(code)) return plainKernel();
  const memory = new WebAssembly.Memory({ initial: 1 });
  let used = 1024; // bytes of memory, of which the first are left free
  const reserve = (/** @type {number} */ numbers) => {
    const start = used;
    used += 16 * Math.ceil(numbers / 4);
    const missing = used - memory.buffer.byteLength;
    if (missing > 0) memory.grow(Math.ceil(missing / PAGE));
    return start;
  };
  const place = (/** @type {Float32Array} */ values) => {
    const start = reserve(values.length);
    new Float32Array(memory.buffer, start).set(values);
    return start;
  };
  const compiled = new WebAssembly.Instance(new WebAssembly.Module(code), { env: { memory } });
  const product = /** @type {(...places: number[]) => void} */ (compiled.exports.linear);
  const linear = (/** @type {Tensor} */ { shape, values }, /** @type {Tensor | undefined} */ bias) => {
    const [outputs, inputs] = shape;
    const [weights, offsets] = [place(values), place(bias ? bias.values : new Float32Array(outputs))];
    return (/** @type {Float32Array} */ x) => {
      const [free, rows] = [used, x.length / inputs];
      const [start, end] = [place(x), reserve(rows * outputs)];
      product(start, weights, offsets, end, rows, inputs, outputs);
      used = free;
      return new Float32Array(memory.buffer, end, rows * outputs).slice();
    };
  };
  return { linear };
}
