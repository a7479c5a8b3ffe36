// @ts-check
// A button that copies the address of the view.

/** @import { Component } from "./streamlit" */

import { language } from "../../core/drawing/texts.js";
import { copyButton } from "./copy_button.js";
import { component } from "./renderer.js";

/** Languages of the buttons: when the page runs again, a button and its text stay. @type {WeakMap<HTMLElement, string>} */
const drawn = new WeakMap();

export default component((/** @type {Component<null>} */ { root }) => {
  if (drawn.get(root) === language()) return;
  drawn.set(root, language());
  root.replaceChildren(copyButton());
});
