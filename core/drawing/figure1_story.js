// @ts-check
// The stops of Figure 1, played: each a sentence and a row of words, with the numbers of this model and sentence.

/** @import { Figure1Data, Figure1Word, Kind, Stack } from "./types" */

import { textOf } from "./dom.js";
import { decimal } from "./numbers.js";
import { tr } from "./texts.js";
import { decodedWeights } from "./weights.js";

const LEAST = 0.005; // weight that is written below a word
const isWord = (/** @type {Figure1Word} */ { spans }) => spans.every(([, style]) => style !== "special");
const UNWEIGHTED = ["embedding", "position", "encoder_self-scores", "memory"]; // before the softmax, or of no query

/** @type {Record<string, (n: Record<string, string | number>) => string>} By the step of Step by step that it begins. */
const SENTENCES = {
  embedding: (n) =>
    tr("The sentence enters as {keys} tokens, and a learned table turns each, as {word}, into {width} numbers.", n),
  position: (n) =>
    tr("{word} is token {place} of {keys}: numbers of this place are added, as nothing else tells the order.", n),
  "encoder_self-scores": (n) =>
    tr("In {head}, clearest of its layer, the query of {word} meets all keys: {best} scores {lead} above {second}.", n),
  "encoder_self-softmax": (n) =>
    tr("Softmax turns scores into weights that mix values: {one} of {best}, {two} of {second}, {rest} of others.", n),
  "encoder_self-concatenation": (n) =>
    tr("Every head of a layer does this in its own way: {heads} \u00d7 {value} numbers, mixed to {width} again.", n),
  "encoder_self-residual": (n) =>
    tr("The result is added to the {width} numbers of {word} that went around it; a norm keeps them in bounds.", n),
  "feed_forward-hidden": (n) =>
    tr("The feed-forward network works on {word} alone: {width} numbers become {hidden}, and {width} again.", n),
  "encoder_self-query": (n) =>
    tr("Layer on layer, {layers} in all with {all} heads: each reads what the one below wrote.", n),
  memory: (n) =>
    tr("The encoder is done: {keys} tokens of {width} numbers each are the memory that the decoder reads.", n),
  "decoder_self-mask": (n) =>
    tr("The decoder is at {fed}: a mask hides the {later} tokens after it, and head {head} looks at {best}, {one}.", n),
  "cross-keys": (n) =>
    tr("To find what follows {fed}, head {head} of cross-attention looks at the source, most at {best}: {one}.", n),
  "decoder_self-query": (n) =>
    tr("Layer on layer here, too, {layers} with {all} heads: {width} numbers come to stand for what follows {fed}.", n),
  "output-logits": (n) =>
    tr("{width} numbers are compared with {vocabulary} tokens: softmax gives {first} {chance}, {other} {rival}.", n),
  "output-beam": (n) =>
    tr("{predicted} is written, at step {step} of {steps}; what is written enters the decoder at the next step.", n),
};

/**
 * The stops of a model and a sentence: each has the name of the step at which it begins, the parts of the figure that it
 * shows, their stack and kind of sub-layer, and the kind whose head is shown. A sentence whose maps are reduced has none.
 * @param {Figure1Data} data
 */
export function playStops({ code, model, maps, source, fed }) {
  /** @type {{ name: string, parts: string[], stack: Stack, kind: string, shown: Kind }[]} */
  const stops = [];
  let stack = /** @type {Stack} */ ("encoder");
  for (const [part, { steps }] of Object.entries(code.parts)) {
    const own = steps.map((step) => step.replace("{kind}", "encoder_self")).filter((name) => name in SENTENCES);
    if (!own.length) stops.at(-1)?.parts.push(part); // it is shown at the stop before
    for (const name of own) {
      const kind = part.endsWith(".layer") ? "" : name.split("-")[0];
      const shown = stack === "encoder" ? "encoder_self" : kind === "decoder_self" ? kind : "cross";
      stops.push({ name, parts: [part], stack, kind, shown });
    }
    if (part === "memory") stack = "decoder";
  }
  const isWhole = maps.cross.columns === source.length && maps.cross.rows === fed.length;
  return stops.filter(({ parts }) => isWhole && (parts[0] !== "positions" || model.positions !== "relative"));
}

/** Layers that Play shows, counted from 0. @param {Figure1Data} data @returns {Record<Stack, number>} */
export function shownLayers({ open, model: { encoder, decoder } }) {
  return open ?? { encoder: encoder.layers - 1, decoder: decoder.layers - 1 };
}

/**
 * Of a shown layer the head that links a query to another word most clearly, and the query's keys, the strongest first.
 * @param {Figure1Data} data
 * @param {Kind} kind
 * @param {number} query
 */
function clearestHead(data, kind, query) {
  const layer = shownLayers(data)[kind === "encoder_self" ? "encoder" : "decoder"];
  const { layers, columns } = data.maps[kind];
  const keys = kind === "decoder_self" ? data.fed : data.source;
  const isOther = (/** @type {number} */ key) => (kind === "cross" || key !== query) && isWord(keys[key]);
  const heads = layers[layer].map((weights, head) => {
    const row = decodedWeights(weights).subarray(query * columns, (query + 1) * columns);
    const ranked = [...row.entries()].filter(([, weight]) => weight >= 0).sort(([, one], [, other]) => other - one);
    return { layer, head, ranked, link: ranked.find(([key]) => isOther(key))?.[1] ?? 0 };
  });
  return heads.reduce((best, each) => (each.link > best.link ? each : best));
}

/**
 * The token of the source that the stops of the encoder follow: the chosen one, or what the decoding step looks at most.
 * @param {Figure1Data} data
 * @param {number} step
 * @param {number} chosen -1: none.
 */
export function followed(data, step, chosen) {
  const keys = clearestHead(data, "cross", step).ranked.map(([key]) => key);
  return chosen >= 0 ? chosen : (keys.find((key) => isWord(data.source[key])) ?? keys[0]);
}

/**
 * The sentence of a stop with `{names}` of its words, the values of its first part, see `Figure1Part`, and its row.
 * @param {Figure1Data} data
 * @param {ReturnType<typeof playStops>[number]} stop
 * @param {number} step
 * @param {number} chosen Token of the source; -1: none.
 */
export function told(data, stop, step, chosen) {
  const { model, source, fed, predicted, options } = data;
  const { name, stack, kind, shown } = stop;
  const word = followed(data, step, chosen);
  const { layer, head, ranked } = clearestHead(data, shown, stack === "encoder" ? word : step);
  const [[best, one], [second, two] = [best, one]] = ranked;
  const { layers, heads, dK, dV, dFf } = model[stack];
  const keys = shown === "decoder_self" ? fed : source;
  const [first, other = first] = options[step];
  const numbers = {
    ...{ keys: source.length, place: word + 1, later: fed.length - step - 1, step: step + 1, steps: fed.length },
    ...{ query: dK, value: dV, heads, layers, all: layers * heads * (stack === "encoder" ? 1 : 2) },
    ...{ width: decimal(model.dModel, 0), hidden: decimal(dFf, 0), vocabulary: decimal(model.vocabulary[1], 0) },
    ...{ one: decimal(one, 2), two: decimal(two, 2), rest: decimal(Math.max(0, 1 - one - two), 2) },
    ...{ chance: decimal(first.probability, 2), rival: decimal(other.probability, 2) },
    ...{ head: `L${layer + 1} H${head + 1}`, lead: decimal(Math.log(one / two), 1) },
  };
  const tokens = { word: source[word], fed: fed[step], predicted: predicted[step], first, other };
  const linked = { best: keys[best], second: keys[second] };
  const words = Object.entries({ ...tokens, ...linked }).map(([each, { spans }]) => [each, textOf(spans)]);
  const values = { stack, kind, layer: layer + 1, head: head + 1, step: name };
  return { text: SENTENCES[name](numbers), words, values, row: row(data, stop, step, word, ranked) };
}

/**
 * The words that a stop is about, with their weights from the softmax on, and what stands below them.
 * @param {Figure1Data} data
 * @param {ReturnType<typeof playStops>[number]} stop
 * @param {number} step
 * @param {number} source
 * @param {[key: number, weight: number][]} ranked
 */
function row(data, { name, parts, stack, shown }, step, source, ranked) {
  if (parts.includes("softmax"))
    return data.options[step].map(({ spans, probability: weight }) => {
      return { spans, weight, note: decimal(weight, 2), hidden: false, asks: false };
    });
  const isEnd = parts[0] === "predicted";
  const isMask = shown === "decoder_self";
  const weights = new Map(isEnd || UNWEIGHTED.includes(name) ? [] : ranked);
  const asking = isEnd || isMask ? step : stack === "encoder" ? source : -1;
  return (isEnd ? data.predicted : isMask ? data.fed : data.source).map(({ spans }, index) => {
    const weight = weights.get(index) ?? 0;
    const note = name === "position" ? String(index + 1) : weight < LEAST ? "" : decimal(weight, 2);
    return { spans, weight, note, hidden: (isMask || isEnd) && index > step, asks: index === asking };
  });
}
