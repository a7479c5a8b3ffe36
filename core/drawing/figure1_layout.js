// @ts-check
// Where the parts of Figure 1 stand, for a model and the width of a page: numbers only, no element of a page.

/** @import { Column, Item, Setting } from "./figure1_parts.js" */
/** @import { Figure1Data, Stack } from "./types" */

import { IN_ORDER, attentionName, layers } from "./figure1_layers.js";
import {
  GUTTERS,
  LINE,
  RESIDUAL,
  THUMB,
  box,
  flow,
  line,
  normName,
  room,
  textWidth,
  title,
  words,
} from "./figure1_parts.js";
import { decimal } from "./numbers.js";
import { tr } from "./texts.js";

const BETWEEN = 70; // pixels between the columns
const OUTSIDE = 36; // beside them: how many layers there are
const NARROW = 780; // up to this width the encoder is above the decoder
const LAPTOP = 1100; // up to this width the window may have 860 pixels, into which the figure of six layers fits
const MARGIN = 20; // at the left of narrow columns, for the line of the memory
const WIDEST = 480; // of a single column
const FACT = 18; // a line of text

/**
 * @param {Figure1Data} data
 * @param {number} width
 * @param {Record<Stack, ReadonlySet<number>>} open Layers that are drawn with all sub-layers.
 * @param {Column["measure"]} measure
 * @returns {{ width: number, height: number, items: Item[] }}
 */
export function layoutFigure(data, width, open, measure) {
  const narrow = width < NARROW;
  const roomy = narrow || width > LAPTOP ? 1 : 0;
  const { encoder, decoder } = data.model;
  const sides = GUTTERS.outer + GUTTERS.inner + RESIDUAL;
  const most = Math.min(width - MARGIN - 2, WIDEST);
  const columns = narrow ? Math.max(encoder.drawn, decoder.drawn) : encoder.drawn + 2 * decoder.drawn;
  const free = narrow ? most - sides : width - 2 * OUTSIDE - BETWEEN - 2 * sides - THUMB.kinds;
  const thumb = Math.max(THUMB.least, Math.min(THUMB.most[roomy], Math.floor(free / columns) - THUMB.gap));
  /** @type {Setting} */
  const setting = { data, open, thumb, narrow, roomy };
  /** @type {(stack: Stack, x: number, width: number, outer: -1 | 1, beyond: number) => Column} */
  const pile = (stack, x, width, outer, beyond) => {
    const [left, free] = room({ x, width, outer });
    const middle = left + free / 2;
    const lines = narrow ? 2 * Math.min(middle - x, x + width - middle) : width + beyond;
    const column = { stack, items: [], x, width, outer, top: 0, middle, memories: [], end: 0, lines, measure };
    fill(column, setting);
    return column;
  };
  if (narrow) {
    const left = MARGIN + (width - MARGIN - 2 - most) / 2;
    return together(pile("encoder", left, most, 1, 0), pile("decoder", left, most, 1, 0), width, setting);
  }
  const across = (/** @type {number} */ heads) => heads * (thumb + THUMB.gap) - THUMB.gap;
  const least = (/** @type {Stack} */ stack) =>
    Math.max(...IN_ORDER[stack].map((kind) => measure({ spans: [[attentionName(kind), ""]] }) + 18));
  const first = sides + Math.max(across(encoder.drawn), least("encoder"));
  const second = sides + Math.max(2 * across(decoder.drawn) + THUMB.kinds, least("decoder"));
  const left = Math.max(0, (width - first - second - BETWEEN) / 2);
  const right = left + first + BETWEEN;
  return together(pile("encoder", left, first, -1, BETWEEN), pile("decoder", right, second, 1, -40), width, setting);
}

/**
 * Both stacks, side by side or one below the other, with the line between them and the facts.
 * @param {Column} encoder
 * @param {Column} decoder
 * @param {number} width
 * @param {Setting} setting
 */
function together(encoder, decoder, width, { data, narrow }) {
  const facts = factItems(data, encoder.x);
  const below = facts.length * FACT + 36 - encoder.top;
  const down = narrow ? below : Math.max(-decoder.top, below);
  shift(encoder, down);
  shift(decoder, narrow ? bottom(encoder.items) + 30 - decoder.top : down);
  const bus = narrow ? encoder.x - 13 : decoder.x - BETWEEN * 0.4;
  const isFrame = (/** @type {Item} */ { type }) => type === "frame";
  const columns = [...encoder.items, ...decoder.items];
  const others = columns.filter((item) => !isFrame(item));
  const items = [...columns.filter(isFrame), ...memory(encoder, decoder, bus, narrow), ...facts, ...others];
  return { width, height: bottom(items) + 6, items };
}

/** @param {Item[]} items */
function bottom(items) {
  return Math.max(...items.map(({ y, height = 0 }) => y + height));
}

/** @param {Column} column @param {number} down */
function shift(column, down) {
  for (const each of [...column.items, ...column.memories]) each.y += down;
  column.end += down;
}

/**
 * The line from the top of the encoder to each layer of the decoder.
 * @param {Column} encoder
 * @param {Column} decoder
 * @param {number} bus x of the line that all layers read from.
 * @param {boolean} narrow
 * @returns {Item[]}
 */
function memory(encoder, decoder, bus, narrow) {
  const over = encoder.end - 16;
  const ends = decoder.memories.map(({ y }) => y);
  const start = narrow ? over : Math.min(over, ...ends);
  return [
    line("memory", false, encoder.middle, encoder.end, encoder.middle, over, bus, over, bus, Math.max(...ends)),
    ...(start < over ? [line("memory", false, bus, over, bus, start)] : []),
    ...decoder.memories.map(({ x, y }) => line("memory", true, bus, y, x, y)),
    {
      type: "text",
      x: encoder.middle + 8,
      y: over - 6,
      anchor: "start",
      look: "note",
      text: memoryText(encoder, bus, narrow),
      part: { link: "memory", name: tr("memory: keys and values"), values: { stack: "encoder" } },
    },
  ];
}

/** @param {Column} encoder @param {number} bus @param {boolean} narrow */
function memoryText(encoder, bus, narrow) {
  const text = tr("memory: keys and values");
  return narrow || textWidth(encoder, text) < bus - encoder.middle - 8 ? text : tr("memory");
}

/** One stack with what enters and leaves it. @param {Column} pile @param {Setting} setting */
function fill(pile, setting) {
  inputs(pile, setting);
  layers(pile, setting);
  if (setting.data.model.finalNorm) {
    flow(pile, 10);
    box(pile, 20, "norm", normName(setting.data), "", undefined, 150);
  }
  pile.end = pile.top;
  if (pile.stack === "decoder") outputs(pile, setting);
  else pile.top -= 30;
}

/** The words, their embeddings and their positions. @param {Column} pile @param {Setting} setting */
function inputs(pile, { data }) {
  const { model } = data;
  const isEncoder = pile.stack === "encoder";
  title(pile, isEncoder ? tr("Inputs") : tr("Outputs (shifted right)"));
  pile.top -= 16;
  if (isEncoder) words(pile, "source", data.source);
  else words(pile, "fed", data.fed);
  pile.top -= 2;
  flow(pile, 7);
  const size = `${decimal(model.vocabulary[isEncoder ? 0 : 1], 0)} \u00d7 ${decimal(model.dModel, 0)}`;
  const name = isEncoder ? tr("Input embedding") : tr("Output embedding");
  box(pile, 20, "embedding", name, size, { link: "embedding", values: { stack: pile.stack } }, 236);
  if (model.positions !== "relative") positions(pile, data);
  if (model.embeddingNorm) {
    flow(pile, 10);
    box(pile, 20, "norm", normName(data), "", undefined, 150);
  }
  flow(pile, 7);
}

/** @param {Column} pile @param {Figure1Data} data */
function positions(pile, { model }) {
  const { middle, outer, stack } = pile;
  const isLearned = model.positions === "learned";
  const name = isLearned ? tr("Learned positions") : tr("Positional encoding");
  const part = { link: "positions", name, values: { stack } };
  flow(pile, 7);
  const y = pile.top - 8;
  const wave = middle + outer * 44;
  pile.items.push(
    line("flow", true, wave, y, middle + outer * 8, y),
    { type: "circle", x: middle, y, width: 16, look: "plus" },
    { type: "circle", x: wave, y, width: 26, look: isLearned ? "table" : "wave", part },
    {
      type: "text",
      x: wave + outer * 20,
      y: y + 4,
      anchor: outer < 0 ? "end" : "start",
      look: "label",
      text: name,
      part,
    },
  );
  pile.top -= 16;
}

/**
 * Linear, softmax, the probabilities of the next token, and all words that they wrote.
 * @param {Column} pile
 * @param {Setting} setting
 */
function outputs(pile, { data }) {
  const { model } = data;
  const part = (/** @type {string} */ link) => ({ link, values: { stack: "decoder", layer: model.decoder.layers } });
  const size = `${decimal(model.dModel, 0)} \u2192 ${decimal(model.vocabulary[1], 0)}`;
  flow(pile, 8);
  box(pile, 20, "linear", tr("Linear"), size, part("logits"), 236);
  flow(pile, 8);
  box(pile, 20, "softmax", tr("Softmax"), "", part("softmax"), 236);
  flow(pile, 8);
  const most = Math.max(...data.options.map((each) => each.length));
  pile.top -= most * LINE.option + 2;
  for (let index = 0; index < most; index++) {
    const y = pile.top + index * LINE.option;
    pile.items.push({ type: "option", x: pile.x, y, width: pile.width, height: LINE.option, index });
  }
  pile.top -= 5;
  title(pile, tr("Output probabilities"));
  pile.top -= 17;
  words(pile, "predicted", data.predicted);
  pile.top -= 4;
}

/** The model in a few lines. @param {Figure1Data} data @param {number} x @returns {Item[]} */
function factItems({ model }, x) {
  const { encoder, decoder } = model;
  const heads = encoder.heads === decoder.heads ? encoder.heads : `${encoder.heads} + ${decoder.heads}`;
  const positions = {
    sinusoidal: tr("sinusoidal positions"),
    learned: tr("learned positions"),
    relative: tr("relative positions"),
  };
  const tied = {
    all: tr("one matrix embeds and predicts"),
    target: tr("one matrix embeds the target and predicts"),
    inputs: tr("one matrix embeds both languages"),
    none: tr("three matrices embed and predict"),
  };
  const texts = [
    tr("words enter below, the next one comes out on top"),
    tr("each small map is a head: which words it looks at"),
    tr("{layers} layers of {heads} heads", { layers: `${encoder.layers} + ${decoder.layers}`, heads }),
    tr("d_model {width}, d_ff {hidden}", { width: decimal(model.dModel, 0), hidden: decimal(encoder.dFf, 0) }),
    model.norm === "post" ? tr("norm after each sub-layer") : tr("norm before each sub-layer"),
    positions[model.positions],
    tied[model.tied],
  ];
  /** @type {Item[]} */
  const items = texts.map((text, line) => ({
    type: "text",
    x,
    y: 14 + line * FACT,
    anchor: "start",
    look: "note",
    text,
  }));
  const inEncoder = encoder.drawn < encoder.heads;
  const { drawn, heads: all } = inEncoder ? encoder : decoder;
  if (drawn === all) return items;
  const text = tr("of each layer the first {drawn} heads are drawn: here are the others", { drawn });
  const part = {
    link: "head",
    name: text,
    values: { kind: inEncoder ? "encoder_self" : "cross", layer: 1, head: drawn + 1 },
  };
  return [...items, { type: "text", x, y: 14 + items.length * FACT, anchor: "start", look: "name", text, part }];
}
