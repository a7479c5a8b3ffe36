// @ts-check
// A small Figure 1 beside every page: where in the model the page is, and the way to the whole figure.

/** @import { Kind, SketchData, SketchPlace } from "../../core/drawing/types" */
/** @import { Component } from "../components/streamlit" */

import { element, isPlainClick } from "../../core/drawing/dom.js";
import { modelSketch } from "../../core/drawing/model_sketch.js";
import { openAddress } from "../components/address.js";
import { component } from "../components/renderer.js";

/**
 * @typedef {SketchData & {
 *   place: SketchPlace,
 *   kind: string,
 *   layer: string,
 *   stack: string,
 *   link: string,
 *   label: string,
 * }} Data See `sketch` in place_in_model.py. The names of settings in the address that say more about the place, "": there is none.
 */

/** @type {Record<string, readonly Kind[]>} */
const STACKS = { encoder: ["encoder_self"], decoder: ["decoder_self", "cross"] };

export default component((/** @type {Component<Data>} */ { data, root }) => {
  const link = element("a");
  link.href = data.link;
  link.setAttribute("aria-label", data.label);
  link.title = data.label;
  link.onclick = (event) => {
    if (!isPlainClick(event)) return;
    event.preventDefault();
    openAddress(data.link);
  };
  const show = () =>
    link.replaceChildren(modelSketch(data, placeOf(data, new URLSearchParams(window.location.search))));
  show();
  root.replaceChildren(link);
  // A part that runs alone changes the address, not the sidebar; browsers without `navigation` follow at a whole run.
  const entries = /** @type {{ navigation?: EventTarget }} */ (/** @type {unknown} */ (window)).navigation;
  entries?.addEventListener("currententrychange", show);
  return () => entries?.removeEventListener("currententrychange", show);
});

/** The place that the address says. @param {Data} data @param {URLSearchParams} address @returns {SketchPlace} */
export function placeOf({ place, kind, layer, stack }, address) {
  const chosen = /** @type {Kind} */ (address.get(kind) ?? "");
  const isKind = Object.values(STACKS).some((kinds) => kinds.includes(chosen));
  const shown = isKind ? [chosen] : (STACKS[address.get(stack) ?? ""] ?? place.kinds);
  const text = address.get(layer.replace("{kind}", shown[0] ?? "")) ?? "";
  const number = text.match(/^L(\d+)\b|\.(\d+)$/);
  return { ...place, kinds: shown, layer: number ? Number(number[1] ?? number[2]) - 1 : place.layer };
}
