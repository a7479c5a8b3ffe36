// @ts-check
// What all components do: they ignore data that arrive out of order, draw previews, and stop listening when drawn again.

/** @import { Component, Renderer } from "./streamlit" */

import { focusedIn } from "../../core/drawing/dom.js";
import { setTexts } from "../../core/drawing/texts.js";
import { showTapped } from "./tapped_text.js";

/** @type {WeakMap<ShadowRoot, number>} */
const drawnSince = new WeakMap();

/** What stops each drawing. Streamlit cleans up only when it removes a component. @type {WeakMap<ShadowRoot, () => void>} */
const stops = new WeakMap();

/**
 * Data of a component with the time of their last change, see `dated` in component.py.
 * @template Data
 * @typedef {[since: number, data: Data, texts: import("../../core/drawing/texts.js").Texts, key: string]} Dated
 */

/**
 * A component that ignores data older than those it shows, and draws those of a preview.
 * @template Data
 * @param {Renderer<Data, Component<Data>>} draw
 * @returns {Renderer<Dated<Data>>}
 */
export function component(draw) {
  return ({ data: [since, data, texts, key], parentElement, setTriggerValue }) => {
    if (!drawnSince.has(parentElement)) showTapped(parentElement);
    if (since < (drawnSince.get(parentElement) ?? 0)) return undefined;
    setTexts(texts);
    const show = (/** @type {number} */ time, /** @type {Data} */ shown) => {
      stops.get(parentElement)?.();
      drawnSince.set(parentElement, time);
      const root = rootOf(parentElement);
      const focused = focusedIn(root)?.dataset;
      const send = (/** @type {string} */ name, /** @type {unknown} */ value) => setTriggerValue(name, value);
      const stop = draw({ data: shown, parentElement, root, focused, setTriggerValue: send });
      stops.set(parentElement, stop ?? (() => {}));
    };
    show(since, data);
    const preview = (/** @type {Event} */ event) => {
      const found = /** @type {CustomEvent<Preview>} */ (event).detail[key];
      if (found) show(found[0], /** @type {Data} */ (found[1]));
    };
    return replaceListener(rootOf(parentElement), PREVIEW, preview, () => stops.get(parentElement)?.());
  };
}

/**
 * Data of drawings of a sentence that was just entered, with their time, by the keys of the components.
 * @typedef {Record<string, [since: number, data: unknown]>} Preview
 */
const PREVIEW = "headlight:preview";

/** @param {Preview} preview */
export function tellPreview(preview) {
  window.dispatchEvent(new CustomEvent(PREVIEW, { detail: preview }));
}

/** The element that a component draws into. @param {ShadowRoot} parentElement */
export function rootOf(parentElement) {
  return /** @type {HTMLElement} */ (parentElement.querySelector(".root"));
}

/** @type {WeakMap<HTMLElement, Map<string, EventListener>>} */
const listeners = new WeakMap();

/**
 * Listen to an event of the window until the drawing is drawn again or removed.
 * @param {HTMLElement} root
 * @param {string} name
 * @param {EventListener} listener
 * @param {() => void} [cleanUp]
 * @returns {() => void} Stops listening.
 */
export function replaceListener(root, name, listener, cleanUp) {
  const known = listeners.get(root) ?? new Map();
  listeners.set(root, known);
  window.removeEventListener(name, known.get(name));
  known.set(name, listener);
  window.addEventListener(name, listener);
  return () => {
    window.removeEventListener(name, listener);
    cleanUp?.();
  };
}
