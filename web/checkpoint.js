// @ts-check
// A checkpoint of Headlight: one .safetensors file with the parameters, the tokenizer and the configuration.

/**
 * @typedef {object} Config The fields that differ between the models that this page can run; see `core/model/config.py`.
 * @property {number} vocab_size
 * @property {number} d_model
 * @property {number} num_heads
 * @property {number} num_encoder_layers
 * @property {number} num_decoder_layers
 * @property {number} pad_id
 * @property {number} bos_id
 * @property {number} eos_id
 *
 * @typedef {{ dtype: string, shape: number[], data_offsets: [number, number] }} Entry
 * @typedef {{ shape: number[], values: Float32Array }} Tensor
 */

/** Every half-precision number (IEEE 754 binary16) in single precision, by its bits. */
const SINGLES = Float32Array.from({ length: 2 ** 16 }, (_, bits) => {
  const [sign, exponent, fraction] = [bits >> 15 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -24 * fraction);
});

/** @param {ArrayBuffer} file @returns {{ config: Config, tensors: Map<string, Tensor>, tokenizer: Uint8Array }} */
export function readCheckpoint(file) {
  const start = 8 + Number(new DataView(file).getBigUint64(0, true));
  /** @type {{ __metadata__: Record<string, string> } & Record<string, Entry>} */
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(file, 8, start - 8)));
  const { __metadata__: metadata, ...entries } = header;
  /** @type {Map<string, Tensor>} */
  const tensors = new Map();
  let tokenizer = new Uint8Array();
  for (const [name, { dtype, shape, data_offsets }] of Object.entries(entries)) {
    const bytes = file.slice(start + data_offsets[0], start + data_offsets[1]);
    if (dtype === "U8") tokenizer = new Uint8Array(bytes);
    else if (dtype === "F16") {
      const halves = new Uint16Array(bytes);
      const values = new Float32Array(halves.length);
      for (let at = 0; at < halves.length; at++) values[at] = SINGLES[halves[at]];
      tensors.set(name, { shape, values });
    } else throw new Error(`${name} is of type ${dtype}: this page reads half precision (F16)`);
  }
  return { config: JSON.parse(metadata.config), tensors, tokenizer };
}
