// @ts-check
// The heads of an explanation in a notebook.

/* global STYLE */

/** @import { Axis } from "../drawing/types" */
/** @import { KindData, Selection, View } from "../drawing/head_explorer.js" */
/** @import { Model, Render } from "./anywidget" */

import { element, isolated } from "../drawing/dom.js";
import { exploreHeads } from "../drawing/head_explorer.js";
import { mount, onChange } from "./widget.js";

/**
 * Traits of `HeadView` in head_view.py.
 * @typedef {object} Traits
 * @property {{ source: string, target: string, kinds: KindData[] }} _data
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
    const draw = () => {
      const { source, target, kinds } = model.get("_data");
      const sentence = element("p", "sentence");
      sentence.append(isolated(source), element("span", "arrow", "\u2192"), isolated(target));
      const place = element("div");
      root.replaceChildren(sentence, place);
      heads?.disconnect();
      heads = exploreHeads(place, kinds, selection(model), (chosen) => send(model, chosen));
    };
    draw();
    const stops = [
      onChange(model, ["_data"], draw),
      onChange(model, ["head", "view", "side", "words"], () => heads?.select(selection(model))),
    ];
    return {
      recolor: () => heads?.recolor(),
      disconnect: () => {
        for (const stop of stops) stop();
        heads?.disconnect();
      },
    };
  });
}

/**
 * @param {Model<Traits>} model
 * @returns {Selection}
 */
function selection(model) {
  const [kind, layer, head] = model.get("head");
  return { kind, layer, head, view: model.get("view"), side: model.get("side"), words: model.get("words") };
}

/**
 * @param {Model<Traits>} model
 * @param {Selection} chosen
 */
function send(model, { kind, layer, head, view, side, words }) {
  model.set("head", [kind, layer, head]);
  model.set("view", view);
  model.set("side", side);
  model.set("words", words);
  model.save_changes();
}

export default { render };
