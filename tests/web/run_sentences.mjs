// Translate and explain sentences under Node.js: reads a request from standard input, writes a line of JSON for each.
import { Buffer } from "node:buffer";
import { readFileSync, writeSync } from "node:fs";

const request = JSON.parse(readFileSync(0, "utf-8"));
const { Translator } = await import(`${request.web}/translator.js`);
const { fastKernel, plainKernel } = await import(`${request.web}/kernel.js`);
const kernel = request.kernel ? fastKernel(readFileSync(request.kernel)) : plainKernel();
const translator = new Translator(new Uint8Array(readFileSync(request.checkpoint)).buffer, kernel);

/** The weights of all layers, heads, queries and keys, those of masked keys as 0, in base64. */
function packed(layers, numKeys) {
  const rows = layers.flat(2).map((row) => Float32Array.from({ length: numKeys }, (_, key) => row[key] ?? 0));
  return Buffer.concat(rows.map((row) => Buffer.from(row.buffer))).toString("base64");
}

/** Write a line at once: what `console.log` is given waits in memory while the loop runs, and gigabytes of it are lost. */
function print(/** @type {object} */ value) {
  const line = Buffer.from(`${JSON.stringify(value)}\n`);
  for (let written = 0; written < line.length;) written += writeSync(1, line, written);
}

for (const ids of request.tokens ?? []) print(translator.tokenizer.decode(ids));
for (const text of request.sentences) {
  try {
    const hypotheses = translator.translate(text, request.options);
    const explanation = translator.explain(text, hypotheses[0].ids);
    const { source, fed, predicted, logProbs, alternatives, weights } = explanation;
    const maps = Object.entries(weights).map(([kind, layers]) => [
      kind,
      packed(layers, kind === "decoder_self" ? fed.length : source.length),
    ]);
    const sourceIds = translator.sourceIds(text);
    const found = {
      sourceIds,
      unseen: translator.tokenizer.unseen(text),
      hypotheses,
      source,
      fed,
      predicted,
      logProbs,
      alternatives,
      maps: Object.fromEntries(maps),
    };
    print(found);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    print({ refused: error.message });
  }
}
