// @ts-check
// A button that copies the address of the view.

/** @import { Component } from "./streamlit" */
/** @import { Texts } from "../../core/drawing/texts.js" */

import { setTexts, tr } from "../../core/drawing/texts.js";
import { copyButton } from "./copy_button.js";
import { rootOf } from "./renderer.js";

/** @type {WeakMap<HTMLElement, string>} */
const drawn = new WeakMap(); // label of the button

/** @param {Component<Texts>} component */
export default function ({ data, parentElement }) {
  const root = rootOf(parentElement);
  setTexts(data);
  const label = tr("Copy link to this view");
  if (drawn.get(root) === label) return; // the page has run again: the button's text stays
  drawn.set(root, label);
  root.replaceChildren(copyButton());
}
