// @ts-check
// Elements that all drawings are made of, and keyboard movement among them.

/** @import { Dash, Head, Span } from "./types" */

const SVG = "http://www.w3.org/2000/svg";

/** @type {Record<Dash, string>} */
export const DASHES = { solid: "none", dash: "6 4", dot: "2 3" };

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {string} [style] Class names.
 * @param {string} [text] Set as text, never as HTML.
 * @returns {HTMLElementTagNameMap[K]}
 */
export function element(tag, style = "", text = "") {
  const node = document.createElement(tag);
  if (style) node.className = style;
  if (text) node.textContent = text;
  return node;
}

/**
 * @template {keyof SVGElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, string | number>} [attributes]
 * @param {string} [text]
 * @returns {SVGElementTagNameMap[K]}
 */
export function vector(tag, attributes = {}, text = "") {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  if (text) node.textContent = text;
  return node;
}

/** An element of the page. @param {string} id */
export function byId(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}

/**
 * A button that Tab reaches if it is the first of its group; arrow keys reach the others.
 * @param {string} style
 * @param {boolean} [first]
 */
export function button(style, first = false) {
  const node = element("button", style);
  node.type = "button";
  node.tabIndex = first ? 0 : -1;
  return node;
}

/**
 * @param {string} text
 * @param {string} name For screen readers, and on hover.
 * @param {() => void} onClick
 * @param {string} [role] In its dataset.
 */
export function action(text, name, onClick, role = "") {
  const node = Object.assign(button("action", true), { textContent: text, title: name, onclick: onClick });
  node.setAttribute("aria-label", name);
  node.dataset.role = role;
  return node;
}

/** A group of elements with a name for screen readers. @param {string} style @param {string} name */
export function group(style, name) {
  const node = element("div", style);
  node.setAttribute("role", "group");
  node.setAttribute("aria-label", name);
  return node;
}

/**
 * Mark a part of a drawing that is no part of its picture: files leave it out, see svg_file.js.
 * @template {HTMLElement} T
 * @param {T} node
 */
export function control(node) {
  node.dataset.control = "";
  return node;
}

/** Tokens as elements: text, never HTML, and of any direction. @param {readonly Span[]} spans */
export function spelled(spans) {
  return spans.map(([text, style]) => {
    const span = element("span", style, text);
    span.dir = "auto";
    return span;
  });
}

/**
 * A text, from `tr`, with elements in place of its `{names}`.
 * @param {string} text
 * @param {Record<string, Node>} elements
 */
export function filled(text, elements) {
  return text
    .split(/\{(\w+)\}/)
    .map((part, index) => (index % 2 ? elements[part] : part))
    .filter(Boolean);
}

/** A bar that fills a share of its track. @param {number} share @param {string} [style] @param {HTMLElement} [bar] */
export function meter(share, style = "chance", bar = element("i")) {
  const track = element("span", style);
  bar.style.width = `${100 * share}%`;
  track.append(bar);
  return track;
}

/** @param {readonly Span[]} spans */
export function textOf(spans) {
  return spans.map(([text]) => text).join("");
}

/** Text of any direction that does not affect the text around it. @param {string} text */
export function isolated(text) {
  const span = element("bdi", "", text);
  span.dir = "auto";
  return span;
}

/** @param {"td" | "th"} tag @param {(Node | string)[][]} contents @param {number[]} [numbers] Columns of numbers. */
export function tableRow(tag, contents, numbers = []) {
  const line = element("tr");
  contents.forEach((content, column) => {
    const cell = element(tag, numbers.includes(column) ? "number" : "");
    cell.append(...content);
    if (!content.some(Boolean)) cell.setAttribute("role", "cell"); // an empty cell is not a heading
    line.append(cell);
  });
  return line;
}

/** Heads by name, each beside a sample of its line. @param {readonly Pick<Head, "name" | "color" | "dash">[]} heads */
export function headNames(heads) {
  const row = element("div", "heads");
  for (const { name, color, dash } of heads) {
    const entry = element("span", "head");
    const sample = vector("svg", { viewBox: "0 0 22 4", "aria-hidden": "true" });
    sample.append(stroke({ d: "M0 2H22", "stroke-width": 3, "stroke-dasharray": DASHES[dash] }, color));
    entry.append(sample, element("span", "", name));
    row.append(entry);
  }
  return row;
}

/**
 * A path of a colour that may be a CSS variable, which an attribute could not be.
 * @param {Record<string, string | number>} attributes
 * @param {string} color
 */
export function stroke(attributes, color) {
  const path = vector("path", attributes);
  path.style.stroke = color;
  return path;
}

/** Make an element of an SVG a button. @param {SVGElement} node @param {() => void} action */
export function act(node, action) {
  node.setAttribute("role", "button");
  node.onclick = action;
  node.onkeydown = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    action();
  };
}

/** Whether a click on a link asks for no other window. @param {MouseEvent} event */
export function isPlainClick({ button, altKey, ctrlKey, metaKey, shiftKey }) {
  return !button && !altKey && !ctrlKey && !metaKey && !shiftKey;
}

/**
 * The focused element if it is in a container, in the page or in a shadow root.
 * @param {HTMLElement} container
 * @returns {HTMLElement | SVGElement | null}
 */
export function focusedIn(container) {
  const { activeElement } = /** @type {Document | ShadowRoot} */ (container.getRootNode());
  const focusable = activeElement instanceof HTMLElement || activeElement instanceof SVGElement;
  return focusable && container.contains(activeElement) ? activeElement : null;
}

/**
 * Focus one of several buttons, which Tab reaches from then on.
 * @param {HTMLElement | SVGElement} goal
 * @param {readonly (HTMLElement | SVGElement)[]} buttons
 */
export function goTo(goal, buttons) {
  for (const each of buttons) each.tabIndex = -1;
  goal.tabIndex = 0;
  goal.focus();
}

/**
 * After a group of buttons was drawn again, focus the one that had the focus. Tab reaches that one; if none had it, the
 * first pressed one, or else the first.
 * @param {readonly (HTMLElement | SVGElement)[]} buttons
 * @param {Readonly<DOMStringMap>} [focused] Dataset of the element that had the focus, see `focusedIn`.
 */
export function restoreFocus(buttons, focused) {
  const entries = Object.entries(focused ?? {});
  const again = buttons.find(
    ({ dataset }) => entries.length && entries.every(([name, value]) => dataset[name] === value),
  );
  const stop = again ?? buttons.find((each) => each.getAttribute("aria-pressed") === "true") ?? buttons[0];
  for (const each of buttons) each.tabIndex = each === stop ? 0 : -1;
  again?.focus({ preventScroll: true });
}

/**
 * Move among rows of buttons with arrow keys.
 * @param {readonly (readonly (HTMLElement | SVGElement)[])[]} rows Each button has its row and its column in its dataset.
 * @param {KeyboardEvent} event
 */
export function moveInRows(rows, event) {
  const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  const step = steps[/** @type {keyof typeof steps} */ (event.key)];
  const from = event.target;
  if (!step || !(from instanceof HTMLElement || from instanceof SVGElement)) return;
  if (from.dataset.row === undefined) return;
  event.preventDefault();
  const goal = rows[Number(from.dataset.row) + step[0]]?.[Number(from.dataset.column) + step[1]];
  if (goal) goTo(goal, [from]);
}

/**
 * Move within and between two columns of words with arrow keys.
 * @param {readonly [HTMLElement[], HTMLElement[]]} columns Left and right.
 * @param {0 | 1} side Column with the focus.
 * @param {number} index Word with the focus.
 * @param {KeyboardEvent} event
 */
export function moveInColumns(columns, side, index, event) {
  const last = columns[side].length - 1;
  /** @type {Record<string, [number, number]>} */
  const goals = {
    ArrowDown: [side, Math.min(index + 1, last)],
    ArrowUp: [side, Math.max(index - 1, 0)],
    Home: [side, 0],
    End: [side, last],
    ArrowLeft: [0, Math.min(index, columns[0].length - 1)],
    ArrowRight: [1, Math.min(index, columns[1].length - 1)],
  };
  const [column, place] = goals[event.key] ?? [];
  const goal = column === undefined ? undefined : columns[column][place];
  if (!goal) return;
  event.preventDefault();
  goTo(goal, columns[column]);
}
