// @ts-check
// A button that copies the address. Where the browser does not allow that, it shows the address to be copied by hand.

/** @import { Component } from "./streamlit" */

import { element } from "../../core/drawing/dom.js";
import { rootOf } from "./shared.js";

const LABEL = "Copy link to this view";
const CONFIRMED = 2000; // milliseconds that "Copied" stays

/** @param {Component<null>} component */
export default function ({ parentElement }) {
  const root = rootOf(parentElement);
  if (root.firstChild) return; // the page has run again: the button's text stays
  const button = element("button", "", LABEL);
  button.type = "button";
  button.setAttribute("aria-live", "polite");
  button.onclick = async () => {
    const address = window.location.href;
    root.querySelector("input")?.remove();
    try {
      await navigator.clipboard.writeText(address);
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = LABEL), CONFIRMED);
    } catch {
      const field = element("input");
      field.readOnly = true;
      field.value = address;
      field.setAttribute("aria-label", "Link to this view");
      root.append(field);
      field.select();
    }
  };
  root.append(button);
}
