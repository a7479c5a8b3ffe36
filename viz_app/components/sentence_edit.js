// @ts-check
// The sentence's text box, of Streamlit: the page's style sheet shows it in place of the words while it has the focus.

import { action } from "../../core/drawing/dom.js";
import { tr } from "../../core/drawing/texts.js";
import { BOX } from "./preview.js";

/** @returns {HTMLInputElement | null} */
const box = () => document.querySelector(BOX);

/** A button that turns the words into the text box. */
export function editButton() {
  const node = action("\u270e\ufe0e", tr("Edit the sentence"), edit);
  node.dataset.control = "edit";
  return Object.assign(node, { className: "edit" });
}

/** Let the visitor type, at the end of the sentence. */
export function edit() {
  const input = box();
  input?.focus();
  input?.setSelectionRange(input.value.length, input.value.length);
}

/**
 * Show the words again after Enter, and after Escape, which leaves the sentence as it was.
 * @param {() => HTMLElement | null | undefined} next What has the focus then.
 * @param {boolean} isFirst Whether there were no words before: then Enter has been pressed already.
 * @returns {() => void} Stops that.
 */
export function wordsAfterEnter(next, isFirst) {
  let before = box()?.value ?? "";
  const leave = () => {
    next()?.focus({ preventScroll: true });
    box()?.blur();
  };
  if (isFirst && document.activeElement === box()) leave();
  const began = (/** @type {FocusEvent} */ { target }) => {
    if (target === box()) before = box()?.value ?? "";
  };
  const pressed = (/** @type {KeyboardEvent} */ { key, target, isComposing }) => {
    const input = box();
    if (!input || target !== input || isComposing) return;
    if (key === "Escape") put(input, before);
    if (key === "Enter" || key === "Escape") leave();
  };
  // In the bubble phase: Streamlit, and a preview that holds Enter back, come first.
  document.addEventListener("keydown", pressed);
  document.addEventListener("focusin", began);
  return () => {
    document.removeEventListener("keydown", pressed);
    document.removeEventListener("focusin", began);
  };
}

/**
 * Set the text as if it had been typed: React hears of a value only through the setter that it has replaced.
 * @param {HTMLInputElement} input
 * @param {string} text
 */
function put(input, text) {
  Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value")?.set?.call(input, text);
  input.dispatchEvent(new Event("input", { bubbles: true }));
}
