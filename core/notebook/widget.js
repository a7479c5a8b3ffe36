// @ts-check
// Shared by the widgets: a root of their own within the notebook, in the notebook's colours.

/** @import { Model } from "./anywidget" */

import { isDark } from "../drawing/dom.js";

/**
 * Call a function with an element to draw into once the widget is on the page: colours are known there only.
 *
 * The element has a shadow root, so that the styles of the notebook and of the widget leave each other alone.
 * @param {HTMLElement} host
 * @param {string} style
 * @param {(root: HTMLElement) => { recolor(): void, disconnect(): void }} draw
 * @returns {() => void} Stops observing the page.
 */
export function mount(host, style, draw) {
  const sheet = document.createElement("style");
  sheet.textContent = style;
  const root = document.createElement("div");
  root.className = "root";
  host.attachShadow({ mode: "open" }).append(sheet, root);
  host.style.minHeight = "1px"; // an empty element is not observed
  /** @type {ReturnType<typeof draw> | undefined} */
  let drawing;
  const follow = () => {
    const scheme = isDark(/** @type {HTMLElement} */ (host.parentElement)) ? "dark" : "light";
    if (drawing && host.style.colorScheme === scheme) return;
    host.style.colorScheme = scheme;
    if (drawing) drawing.recolor();
    else drawing = draw(root);
  };
  const shown = new ResizeObserver(() => host.parentElement && follow());
  shown.observe(host);
  const theme = new MutationObserver(() => drawing && setTimeout(follow, 300)); // its style sheet is loaded first
  for (const node of [document.documentElement, document.body]) theme.observe(node, { attributes: true });
  return () => {
    shown.disconnect();
    theme.disconnect();
    drawing?.disconnect();
  };
}

/**
 * Call a function when one of several traits changes, until the widget is removed.
 * @template Traits
 * @param {Model<Traits>} model
 * @param {readonly (keyof Traits & string)[]} names
 * @param {() => void} handle
 * @returns {() => void} Stops.
 */
export function onChange(model, names, handle) {
  const events = names.map((name) => /** @type {const} */ (`change:${name}`));
  for (const event of events) model.on(event, handle);
  return () => events.forEach((event) => model.off(event, handle));
}
