// @ts-check
// A button that copies the address. Where the browser does not allow that, it shows the address to be copied by hand.

import { element } from "../../core/drawing/dom.js";
import { tr } from "../../core/drawing/texts.js";

const CONFIRMED = 2000; // milliseconds that "Copied" stays

/** @returns {HTMLElement} */
export function copyButton() {
  const label = tr("Copy link to this view");
  const [box, button] = [element("span", "copy"), element("button", "", label)];
  button.type = "button";
  button.setAttribute("aria-live", "polite");
  button.onclick = async () => {
    const address = window.location.href;
    box.querySelector("input")?.remove();
    try {
      await navigator.clipboard.writeText(address);
      button.textContent = tr("Copied");
      setTimeout(() => (button.textContent = label), CONFIRMED);
    } catch {
      const field = element("input");
      field.readOnly = true;
      field.value = address;
      field.setAttribute("aria-label", tr("Link to this view"));
      box.append(field);
      field.select();
    }
  };
  box.append(button);
  return box;
}
