// @ts-check
// The tour in the browser: it opens the page of a step, scrolls to the part that the step speaks of, and ends by Escape.

/** @import { Renderer } from "./streamlit" */

import { whenDrawn } from "./shared.js";

/**
 * @typedef {object} Data
 * @property {string | null} part Selects the part of the page; null: there is none on this page.
 * @property {string | null} focus Selects what is to have the focus; "" for nothing.
 * @property {boolean} follow Whether the page of the step is still to be opened.
 * @property {number} move Number of the change that led to the step.
 */

const FREE = "input, textarea, select, [role=dialog], [role=listbox]"; // Escape is theirs

let followed = 0;
let pointed = 0;

/** @type {Renderer<Data>} */
export default function ({ data, setTriggerValue }) {
  const { part, focus, follow, move } = data;
  if (follow && followed !== move) {
    followed = move;
    whenDrawn(() => /** @type {HTMLElement | null} */ (document.querySelector(".st-key-tour a"))?.click());
  }
  if (part && pointed !== move) {
    pointed = move;
    whenDrawn(() => {
      document.querySelector(part)?.scrollIntoView({ block: "nearest" });
      if (focus) /** @type {HTMLElement | null} */ (document.querySelector(focus))?.focus({ preventScroll: true });
    });
  }
  const leave = (/** @type {KeyboardEvent} */ event) => {
    const inside = event.composedPath().some((each) => each instanceof Element && each.matches(FREE));
    if (event.key === "Escape" && !inside && !document.querySelector("[role=dialog]")) setTriggerValue("leave", true);
  };
  document.addEventListener("keydown", leave);
  return () => document.removeEventListener("keydown", leave);
}
