// @ts-check
// The layers of a stack of Figure 1: folded, as the small maps of their heads, or with all sub-layers, as in the paper.

/** @import { Column, Setting } from "./figure1_parts.js" */
/** @import { Kind, Stack } from "./types" */

import { GUTTERS, THUMB, box, fitting, flow, line, map, normName, room } from "./figure1_parts.js";
import { decimal } from "./numbers.js";
import { tr } from "./texts.js";

const [PAD, GAP] = [5, 6]; // within the frame, and between layers
const LARGE = { least: 32, most: [32, 36], gap: 4, title: 18, pad: 4 }; // maps of a layer that is not folded
/** @type {Record<Stack, Kind[]>} */
export const IN_ORDER = { encoder: ["encoder_self"], decoder: ["decoder_self", "cross"] };

/** The frame of a stack with its layers, the first one lowest. @param {Column} pile @param {Setting} setting */
export function layers(pile, setting) {
  const { stack, x, width, outer } = pile;
  const { layers: count } = setting.data.model[stack];
  const bottom = pile.top;
  flow(pile, PAD, false);
  for (let layer = 0; layer < count; layer++) {
    if (layer) flow(pile, GAP, false);
    const start = pile.top;
    const open = setting.open[stack].has(layer);
    if (open) openLayer(pile, layer, setting);
    else foldedLayer(pile, layer, setting);
    const y = (start + pile.top) / 2;
    const text = tr("Layer {layer}", { layer: layer + 1 });
    const part = { link: `${stack}.layer`, name: text, values: { stack, layer: layer + 1 } };
    const [name, fold] = outer < 0 ? [x + 30, x + 5] : [x + width - GUTTERS.outer + 8, x + width - 29];
    pile.items.push(
      { type: "fold", x: fold, y: y - 12, width: 24, height: 24, stack, layer, open, text },
      { type: "text", x: name, y: y + 4, anchor: "start", look: "name", text: `L${layer + 1}`, part },
    );
  }
  flow(pile, PAD, false);
  pile.items.unshift({ type: "frame", stack, x, y: pile.top, width, height: bottom - pile.top });
  if (setting.narrow) return;
  const beside = { x: outer < 0 ? x - 9 : x + width + 9, y: (bottom + pile.top) / 2 + 5 };
  pile.items.push({
    type: "text",
    ...beside,
    anchor: outer < 0 ? "end" : "start",
    look: "times",
    text: `${count}\u00d7`,
  });
}

/**
 * A layer as the small maps of its heads; those of cross-attention are nearest to the encoder.
 * @param {Column} pile
 * @param {number} layer
 * @param {Setting} setting
 */
function foldedLayer(pile, layer, { data, thumb, narrow }) {
  const kinds = IN_ORDER[pile.stack].toReversed();
  const { drawn } = data.model[pile.stack];
  const [left, width] = room(pile);
  const across = drawn * (thumb + THUMB.gap) - THUMB.gap;
  const rows = narrow ? kinds.length : 1;
  const whole = narrow ? across : kinds.length * across + (kinds.length - 1) * THUMB.kinds;
  const start = left + (width - whole) / 2;
  flow(pile, rows * (thumb + THUMB.gap) - THUMB.gap, false);
  kinds.forEach((kind, place) => {
    const x = narrow ? start : start + place * (across + THUMB.kinds);
    const y = pile.top + (narrow ? place * (thumb + THUMB.gap) : 0);
    if (kind === "cross") pile.memories.push({ x: x - 4, y: y + thumb / 2 });
    for (let head = 0; head < drawn; head++)
      pile.items.push(map(kind, layer, head, x + head * (thumb + THUMB.gap), y, thumb));
  });
}

/** @param {Column} pile @param {number} layer @param {Setting} setting */
function openLayer(pile, layer, setting) {
  const { data } = setting;
  for (const kind of IN_ORDER[pile.stack]) {
    subLayer(pile, layer, setting, kind, () => attention(pile, layer, setting, kind));
    flow(pile, 3, false);
  }
  const { dFf } = data.model[pile.stack];
  const [narrow, wide] = [data.model.dModel, dFf].map((each) => decimal(each, 0));
  const sizes = `${narrow} \u2192 ${wide} \u2192 ${narrow}`;
  subLayer(pile, layer, setting, "feed_forward", () =>
    box(pile, 20, "feed", tr("Feed-forward"), sizes, subPart(pile, layer, "feed_forward"), room(pile)[1]),
  );
}

/** @param {Column} pile @param {number} layer @param {string} link @param {Kind | "feed_forward"} [kind] */
function subPart({ stack }, layer, link, kind = "feed_forward") {
  return { link, values: { stack, layer: layer + 1, kind } };
}

/**
 * A sub-layer with its residual connection and its norm, which comes after both or first (3.1).
 * @param {Column} pile
 * @param {number} layer
 * @param {Setting} setting
 * @param {Kind | "feed_forward"} name
 * @param {() => void} draw
 */
function subLayer(pile, layer, { data }, name, draw) {
  const { outer, middle } = pile;
  const isPost = data.model.norm === "post";
  const start = pile.top - (isPost ? 1 : 0);
  const norm = () => {
    const text = isPost ? tr("Add & {norm}", { norm: normName(data) }) : normName(data);
    return box(pile, 17, "norm", text, "", subPart(pile, layer, isPost ? "residual" : "norm", name), room(pile)[1]);
  };
  flow(pile, 6);
  if (!isPost) {
    norm();
    flow(pile, 6);
  }
  draw();
  flow(pile, 6);
  let end = { x: middle + (outer * room(pile)[1]) / 2, y: pile.top - 9 };
  if (isPost) norm();
  else {
    const part = { ...subPart(pile, layer, "residual", name), name: tr("Add") };
    end = { x: middle + outer * 8, y: pile.top - 8 };
    pile.items.push({ type: "circle", x: middle, y: end.y, width: 16, look: "plus", part });
    pile.top -= 16;
  }
  const [left, width] = room(pile);
  const side = outer < 0 ? left - 13 : left + width + 13;
  pile.items.push(line("residual", true, middle, start, side, start, side, end.y, end.x, end.y));
}

/** @param {Kind} kind */
export function attentionName(kind) {
  return {
    encoder_self: tr("Multi-head attention"),
    decoder_self: tr("Masked multi-head attention"),
    cross: tr("Multi-head cross-attention"),
  }[kind];
}

/** @param {Column} pile @param {number} layer @param {Setting} setting @param {Kind} kind */
function attention(pile, layer, { data, roomy }, kind) {
  const text = attentionName(kind);
  const { heads, drawn, dK } = data.model[pile.stack];
  const [x, width] = room(pile);
  const inner = width - 2 * LARGE.pad;
  const fits = (/** @type {number} */ count) =>
    Math.min(LARGE.most[roomy], Math.floor((inner + LARGE.gap) / count) - LARGE.gap);
  let rows = 1;
  while (rows < 4 && fits(Math.ceil(drawn / rows)) < LARGE.least) rows++;
  const across = Math.ceil(drawn / rows);
  const side = fits(across);
  const height = LARGE.title + rows * (side + LARGE.gap) + LARGE.pad - 2;
  pile.top -= height;
  const note = fitting(pile, text, `${heads} \u00d7 ${dK}`, width);
  const links = { encoder_self: "attention", decoder_self: "mask", cross: "cross" };
  const part = { ...subPart(pile, layer, links[kind], kind), name: text };
  pile.items.push({ type: "box", x, y: pile.top, width, height, look: "attention", text, note, part });
  const start = x + (width - across * (side + LARGE.gap) + LARGE.gap) / 2;
  for (let head = 0; head < drawn; head++) {
    const [row, column] = [Math.floor(head / across), head % across];
    const y = pile.top + LARGE.title + row * (side + LARGE.gap);
    pile.items.push(map(kind, layer, head, start + column * (side + LARGE.gap), y, side));
  }
  if (kind === "cross") pile.memories.push({ x, y: pile.top + height / 2 });
}
