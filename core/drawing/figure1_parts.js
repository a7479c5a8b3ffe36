// @ts-check
// What the columns of Figure 1 are piled up from: numbers only, no element of a page. A column grows upwards from its
// feet at y = 0, as the values flow, so that its parts have negative y until both columns are put together.

/** @import { Figure1Data, Figure1Part, Figure1Word, Kind, Stack } from "./types" */

import { tr } from "./texts.js";

export const THUMB = { least: 7, most: [18, 22], gap: 5, kinds: 20 }; // small maps of a layer, and between its two kinds
export const GUTTERS = { outer: 52, inner: 16 }; // within a frame: names of layers, and the other side
export const RESIDUAL = 18; // room beside the sub-layers for the lines that pass them by
const [SPACE, PADDING] = [5, 2]; // pixels between words, and around them
export const LINE = { word: 22, option: 15 }; // pixels from one line of text to the next

/**
 * @typedef {object} Item
 * @property {"frame" | "box" | "map" | "path" | "circle" | "text" | "word" | "option" | "fold"} type
 * @property {number} x
 * @property {number} y
 * @property {number} [width]
 * @property {number} [height]
 * @property {string} [look] Class names.
 * @property {string} [text]
 * @property {string} [note] Beside the text, smaller.
 * @property {"start" | "middle" | "end"} [anchor]
 * @property {[number, number][]} [points] Of a path, from `x` and `y`.
 * @property {boolean} [arrow]
 * @property {Figure1Part} [part]
 * @property {Kind} [kind] Of a map.
 * @property {Stack} [stack]
 * @property {number} [layer]
 * @property {number} [head]
 * @property {"source" | "fed" | "predicted"} [side] Of a word.
 * @property {number} [index]
 * @property {boolean} [open]
 *
 * @typedef {object} Column
 * @property {Stack} stack
 * @property {Item[]} items
 * @property {number} x
 * @property {number} width Of the frame.
 * @property {-1 | 1} outer Side of the names of layers and of the residual connections.
 * @property {number} top The lowest y so far.
 * @property {number} middle x of the flow of values.
 * @property {{ x: number, y: number }[]} memories Where the decoder reads the encoder's output.
 * @property {number} end y of the top of the stack.
 * @property {number} lines Width of lines of words.
 * @property {(text: Pick<Figure1Word, "spans">) => number} measure Width of a token, or of another text, in pixels.
 *
 * @typedef {object} Setting
 * @property {Figure1Data} data
 * @property {Record<Stack, ReadonlySet<number>>} open Layers that are drawn with all sub-layers.
 * @property {number} thumb Side of a small map.
 * @property {boolean} narrow
 * @property {0 | 1} roomy Whether maps have their full size: not where the figure would be taller than a laptop's window.
 */

/**
 * The room for maps and sub-layers within a frame, beside residual connections.
 * @param {Pick<Column, "x" | "width" | "outer">} column
 * @returns {[left: number, width: number]}
 */
export function room({ x, width, outer }) {
  const left = outer < 0 ? GUTTERS.outer + RESIDUAL : GUTTERS.inner;
  return [x + left, width - GUTTERS.outer - GUTTERS.inner - RESIDUAL];
}

/** A step of the flow upwards. @param {Column} pile @param {number} by @param {boolean} [arrow] */
export function flow(pile, by, arrow = true) {
  pile.items.push(line("flow", arrow, pile.middle, pile.top, pile.middle, pile.top - by));
  pile.top -= by;
}

/** @param {string} look @param {boolean} arrow @param {number[]} at x and y of each point. @returns {Item} */
export function line(look, arrow, ...at) {
  const points = at.flatMap((x, index) => (index % 2 ? [] : [/** @type {[number, number]} */ ([x, at[index + 1]])]));
  return { type: "path", x: 0, y: 0, points, look, arrow };
}

/**
 * A sub-layer without maps, in the middle of the column.
 * @param {Column} pile
 * @param {number} height
 * @param {string} look
 * @param {string} text
 * @param {string} note
 * @param {Omit<Figure1Part, "name"> | undefined} part
 * @param {number} most Width, if there is room.
 * @returns {Item}
 */
export function box(pile, height, look, text, note, part, most) {
  const width = Math.min(most, pile.width);
  pile.top -= height;
  /** @type {Item} */
  const item = {
    type: "box",
    x: pile.middle - width / 2,
    y: pile.top,
    width,
    height,
    look,
    text,
    note: fitting(pile, text, note, width),
  };
  if (part) item.part = { ...part, name: note ? `${text}, ${note}` : text };
  pile.items.push(item);
  return item;
}

/**
 * A note in monospace, if there is room for it beside a text.
 * @param {Column} pile
 * @param {string} text
 * @param {string} note
 * @param {number} width
 */
export function fitting(pile, text, note, width) {
  return textWidth(pile, text) + 7.3 * note.length + 28 <= width ? note : "";
}

/** @param {Column} pile @param {string} text */
export function textWidth({ measure }, text) {
  return measure({ spans: [[text, ""]] });
}

/**
 * @param {Kind} kind
 * @param {number} layer
 * @param {number} head
 * @param {number} x
 * @param {number} y
 * @param {number} size
 * @returns {Item}
 */
export function map(kind, layer, head, x, y, size) {
  const texts = {
    encoder_self: tr("L{layer} H{head}, self-attention of the encoder", { layer: layer + 1, head: head + 1 }),
    decoder_self: tr("L{layer} H{head}, self-attention of the decoder", { layer: layer + 1, head: head + 1 }),
    cross: tr("L{layer} H{head}, cross-attention", { layer: layer + 1, head: head + 1 }),
  };
  const stack = kind === "encoder_self" ? "encoder" : "decoder";
  const part = { link: "head", name: texts[kind], values: { stack, kind, layer: layer + 1, head: head + 1 } };
  return { type: "map", x, y, width: size, height: size, kind, layer, head, part };
}

/** @param {Column} pile @param {string} text */
export function title(pile, text) {
  pile.items.push({ type: "text", x: pile.middle, y: pile.top, anchor: "middle", look: "title", text });
}

/**
 * Tokens in centred lines, which end between words.
 * @param {Column} pile
 * @param {"source" | "fed" | "predicted"} side
 * @param {readonly Figure1Word[]} tokens
 */
export function words(pile, side, tokens) {
  const widths = tokens.map((token) => Math.min(pile.measure(token), pile.lines));
  /** @type {{ index: number, x: number }[][]} */
  const lines = [[]];
  let end = 0;
  for (let index = 0; index < tokens.length; index++) {
    const line = lines[lines.length - 1];
    if (!tokens[index].glued && line.length) end += SPACE;
    const needed = tokens[index].glued ? widths[index] : wordWidth(index, tokens, widths);
    if (line.length && end + needed > pile.lines) {
      lines.push([]);
      end = 0;
    }
    lines[lines.length - 1].push({ index, x: end });
    end += widths[index];
  }
  pile.top -= lines.length * LINE.word;
  lines.forEach((line, row) => {
    const last = line[line.length - 1];
    const left = pile.middle - (last ? last.x + widths[last.index] : 0) / 2;
    const y = pile.top + row * LINE.word;
    for (const { index, x } of line) {
      const before = tokens[index].glued ? 0 : PADDING;
      const after = tokens[index + 1]?.glued ? 0 : PADDING;
      const place = { x: left + x - before, width: widths[index] + before + after };
      pile.items.push({ type: "word", ...place, y, height: LINE.word - 2, side, index });
    }
  });
}

/**
 * Width of the tokens from one on that follow each other without a space.
 * @param {number} from
 * @param {readonly Figure1Word[]} tokens
 * @param {readonly number[]} widths
 */
function wordWidth(from, tokens, widths) {
  let width = widths[from];
  for (let index = from + 1; tokens[index]?.glued; index++) width += widths[index];
  return width;
}

/** @param {Figure1Data} data */
export function normName({ model }) {
  return model.rms ? "RMSNorm" : "Norm"; // of LayerNorm, as the paper writes it in every language
}
