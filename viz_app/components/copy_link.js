// @ts-check
// A button that copies the address. Where the browser does not allow that, it shows the address to be copied by hand.

/** @import { Component } from "./streamlit" */
/** @import { Texts } from "../../core/drawing/texts.js" */

import { element } from "../../core/drawing/dom.js";
import { setTexts, tr } from "../../core/drawing/texts.js";
import { rootOf } from "./renderer.js";

const CONFIRMED = 2000; // milliseconds that "Copied" stays

/** @type {WeakMap<HTMLElement, string>} */
const drawn = new WeakMap(); // label of the button

/** @param {Component<Texts>} component */
export default function ({ data, parentElement }) {
  const root = rootOf(parentElement);
  setTexts(data);
  const label = tr("Copy link to this view");
  if (drawn.get(root) === label) return; // the page has run again: the button's text stays
  drawn.set(root, label);
  const button = element("button", "", label);
  button.type = "button";
  button.setAttribute("aria-live", "polite");
  button.onclick = async () => {
    const address = window.location.href;
    root.querySelector("input")?.remove();
    try {
      await navigator.clipboard.writeText(address);
      button.textContent = tr("Copied");
      setTimeout(() => (button.textContent = label), CONFIRMED);
    } catch {
      const field = element("input");
      field.readOnly = true;
      field.value = address;
      field.setAttribute("aria-label", tr("Link to this view"));
      root.append(field);
      field.select();
    }
  };
  root.replaceChildren(button);
}
