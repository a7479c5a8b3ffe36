// @ts-check
// Shared by the widgets: a root of their own within the notebook, in the notebook's colours.

/** @import { Model } from "./anywidget" */

import { isDark } from "../drawing/shades.js";

/**
 * Call a function with an element to draw into once the widget is on the page: colours are known there only.
 *
 * The element has a shadow root, so that the styles of the notebook and of the widget leave each other alone. Its host
 * is new at each call: a widget may be drawn into the same place again.
 * @param {HTMLElement} place
 * @param {string} style
 * @param {(root: HTMLElement) => { recolor(): void, disconnect(): void }} draw
 * @returns {() => void} Removes the widget and stops observing the page.
 */
export function mount(place, style, draw) {
  const sheet = document.createElement("style");
  sheet.textContent = style;
  const root = document.createElement("div");
  root.className = "root";
  const host = document.createElement("div");
  host.attachShadow({ mode: "open" }).append(sheet, root);
  host.style.minHeight = "1px"; // an empty element is not observed
  place.append(host);
  /** @type {ReturnType<typeof draw> | undefined} */
  let drawing;
  const follow = () => {
    const scheme = isNotebookDark(place) ? "dark" : "light";
    if (drawing && host.style.colorScheme === scheme) return;
    host.style.colorScheme = scheme;
    if (drawing) drawing.recolor();
    else drawing = draw(root);
  };
  const shown = new ResizeObserver(() => host.isConnected && follow());
  shown.observe(host);
  const theme = new MutationObserver(() => drawing && setTimeout(follow, 300)); // its style sheet is loaded first
  for (const node of [document.documentElement, document.body]) theme.observe(node, { attributes: true });
  return () => {
    shown.disconnect();
    theme.disconnect();
    drawing?.disconnect();
    host.remove();
  };
}

/**
 * Whether the notebook has a dark theme. Visual Studio Code and Colab name it; elsewhere the colour of the text around
 * the widget tells it. In Visual Studio Code that colour would not: text of ipywidgets is dark there in every theme.
 * @param {HTMLElement} place
 */
function isNotebookDark(place) {
  const { documentElement, body } = document;
  const kind = body.dataset.vscodeThemeKind; // vscode-light, vscode-dark, vscode-high-contrast(-light)
  if (kind) return !kind.endsWith("light");
  return documentElement.getAttribute("theme") === "dark" || isDark(place);
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
