// @ts-check
// Drawings of a sentence that was just entered, before Streamlit runs the page for it: see session/previews.py.

import { tellPreview } from "./renderer.js";

export const BOX = ".st-key-text input"; // the text box of the sentence, which is Streamlit's
const PATIENCE = 500; // milliseconds until the page runs without a preview
const FRAME = 50; // milliseconds that drawing may take

/** Names the visitor to the server. @type {string} */
let ticket = "";
let isAnswered = true; // false: a proxy or firewall blocks the requests

/** Enter that is for Streamlit. @type {WeakSet<Event>} */
const forStreamlit = new WeakSet();

/**
 * Ask for a preview whenever Enter is pressed in the text box.
 * @param {string} newTicket
 * @returns {() => void} Stops that.
 */
export function previewOnEnter(newTicket) {
  ticket = newTicket;
  document.addEventListener("keydown", entered, { capture: true }); // before Streamlit; again: no change
  return () => document.removeEventListener("keydown", entered, { capture: true });
}

/** @param {KeyboardEvent} event */
async function entered(event) {
  const box = event.target;
  if (event.key !== "Enter" || event.isComposing || forStreamlit.has(event) || !isAnswered || !ticket) return;
  if (!(box instanceof HTMLInputElement) || !box.matches(BOX)) return;
  event.stopPropagation();
  await preview(box.value);
  const again = new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true });
  forStreamlit.add(again);
  box.dispatchEvent(again);
}

/**
 * Let all drawings show a sentence if the server has a preview, and wait until they are on the screen.
 * @param {string} text
 */
async function preview(text) {
  try {
    // Relative to the address of the page: a proxy may have put the app in a folder.
    const answer = await fetch(new URL("preview", window.location.href), {
      method: "POST",
      body: JSON.stringify({ ticket, text }),
      signal: AbortSignal.timeout(PATIENCE),
    });
    isAnswered = [200, 204, 413].includes(answer.status);
    if (answer.status !== 200) return;
    tellPreview(await answer.json());
    await new Promise((resolve) => {
      requestAnimationFrame(() => setTimeout(resolve));
      setTimeout(resolve, FRAME); // a hidden page has no frames
    });
  } catch {
    // The page shows the sentence a little later.
  }
}
