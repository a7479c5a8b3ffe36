// @ts-check
// The heads of an explanation in a notebook.

/* global STYLE */

/** @import { Axis, Figure1Data } from "../drawing/types" */
/** @import { KindData, Selection, View } from "../drawing/head_explorer.js" */
/** @import { Model, Render } from "./anywidget" */

import { element, isolated } from "../drawing/dom.js";
import { drawFigureOfHeads } from "../drawing/figure1_heads.js";
import { exploreHeads } from "../drawing/head_explorer.js";
import { mount, onChange } from "./widget.js";

/**
 * Traits of `HeadView` in head_view.py.
 * @typedef {object} Traits
 * @property {{ source: string, target: string, kinds: KindData[], figure1: Omit<Figure1Data, "scale"> | null }} _data
 * @property {[kind: string, layer: number, head: number]} head
 * @property {View} view
 * @property {Axis} side
 * @property {readonly number[]} words
 */

/** @type {Render<Traits>} */
function render({ model, el }) {
  return mount(el, STYLE, (root) => {
    /** @type {ReturnType<typeof exploreHeads> | undefined} */
    let heads;
    /** @type {ReturnType<typeof drawFigureOfHeads> | undefined} */
    let figure;
    const draw = () => {
      const { source, target, kinds, figure1 } = model.get("_data");
      const sentence = element("p", "sentence");
      sentence.append(isolated(source), element("span", "arrow", "\u2192"), isolated(target));
      const [place, below] = [element("div"), element("div", "model")];
      root.replaceChildren(sentence, place, below);
      heads?.disconnect();
      figure?.disconnect();
      heads = exploreHeads(place, kinds, selection(model), (chosen) => send(model, chosen));
      figure = figure1 ? drawFigureOfHeads(below, figure1, (head) => chooseHead(model, head)) : undefined;
    };
    draw();
    const stops = [
      onChange(model, ["_data"], draw),
      onChange(model, ["head", "view", "side", "words"], () => heads?.select(selection(model))),
    ];
    return {
      recolor: () => {
        heads?.recolor();
        figure?.recolor();
      },
      disconnect: () => {
        for (const stop of stops) stop();
        heads?.disconnect();
        figure?.disconnect();
      },
    };
  });
}

/** @param {Model<Traits>} model @returns {Selection} */
function selection(model) {
  const [kind, layer, head] = model.get("head");
  return { kind, layer, head, view: model.get("view"), side: model.get("side"), words: model.get("words") };
}

/** @param {Model<Traits>} model @param {Pick<Selection, "kind" | "layer" | "head">} head */
function chooseHead(model, { kind, layer, head }) {
  model.set("head", [kind, layer, head]);
  model.save_changes();
}

/** @param {Model<Traits>} model @param {Selection} chosen */
function send(model, { kind, layer, head, view, side, words }) {
  model.set("head", [kind, layer, head]);
  model.set("view", view);
  model.set("side", side);
  model.set("words", words);
  model.save_changes();
}

export default { render };
