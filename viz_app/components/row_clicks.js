// @ts-check
// A click anywhere in a row of Streamlit's table selects it: Streamlit itself takes only its small box at the left.

/** @import { Component } from "./streamlit" */

import { component } from "./renderer.js";

const BOX = 18; // pixels from the left edge to the middle of a row's box
const BOXES = 36; // width of their column, and height of the titles above

export default component((/** @type {Component<string>} */ { data: key }) => {
  /** @param {MouseEvent} event */
  const onClick = ({ target, isTrusted, clientX, clientY }) => {
    const table = isTrusted && target instanceof Element && target.closest(`.st-key-${CSS.escape(key)}`);
    const canvas = table && target.closest(".stDataFrameGlideDataEditor") && table.querySelector("canvas");
    if (!canvas) return;
    const { left, top } = canvas.getBoundingClientRect();
    if (clientX - left <= BOXES || clientY - top <= BOXES) return;
    for (const name of ["pointermove", "pointerdown", "pointerup"])
      canvas.dispatchEvent(new PointerEvent(name, { bubbles: true, clientX: left + BOX, clientY }));
  };
  document.addEventListener("click", onClick);
  return () => document.removeEventListener("click", onClick);
});
