// @ts-check
// Examples of a head or a neuron: sentences with marked tokens. Each is a button that leads to another page.

/** @import { Span } from "../../../core/drawing/types" */
/** @import { Component } from "../../components/streamlit" */

import { button, element, focusedIn, goTo, group, moveInRows, spelled, textOf } from "../../../core/drawing/dom.js";
import { tr } from "../../../core/drawing/texts.js";
import { component, rootOf, whenDrawn } from "../../components/shared.js";

/**
 * @typedef {{ spans: Span[], glued: boolean, mark: "" | "query" | "key" | "both" }} Token
 *
 * @typedef {object} Data See `examples_payload`.
 * @property {string} title What a click does.
 * @property {string} followed Name of the page to go to when the server has handled a click.
 * @property {number} count Of the clicks handled so far.
 * @property {{ texts: { direction: string, tokens: Token[] }[], value: string, share: number, note: string }[]} examples
 */

/** @type {WeakMap<HTMLElement, number>} */
const handled = new WeakMap();

export default component((/** @type {Component<Data>} */ { data, parentElement, setTriggerValue }) => {
  const root = rootOf(parentElement);
  if (data.count > (handled.get(root) ?? data.count)) whenDrawn(() => followLink(data.followed));
  handled.set(root, data.count);
  const focused = focusedIn(root)?.dataset.row;
  const list = group("examples", tr("Examples"));
  const lines = data.examples.map(({ texts, value, share, note }, number) => {
    const node = button("example", number === 0);
    Object.assign(node.dataset, { row: number, column: 0 });
    node.title = data.title;
    const left = element("span", "value", value);
    const track = element("span", "track");
    const bar = element("span", "bar");
    bar.style.width = `${100 * share}%`;
    track.append(bar);
    left.append(track);
    const right = element("span");
    right.append(...texts.map(({ direction, tokens }) => textNode(tokens, direction)));
    if (note) right.lastElementChild?.append(element("span", "note", note));
    node.append(left, right);
    node.onclick = () => setTriggerValue("opened", { example: number });
    list.append(node);
    return [node];
  });
  list.onkeydown = (event) => moveInRows(lines, event);
  root.replaceChildren(list);
  if (focused !== undefined && lines[Number(focused)]) goTo(lines[Number(focused)][0], lines.flat());
});

/**
 * @param {Token[]} tokens
 * @param {string} direction
 */
function textNode(tokens, direction) {
  const line = element("div", "text");
  line.dir = direction || "auto";
  for (const { spans, glued, mark } of tokens) {
    if (!glued) line.append(" ");
    const node = element("span", `token ${mark}`.trim());
    node.append(...spelled(spans));
    if (mark) node.title = `${textOf(spans)}: ${marks()[mark]}`;
    line.append(node);
  }
  return line;
}

/**
 * Go to another page of the app, in the same session, by a link on this page.
 * @param {string} name
 */
function followLink(name) {
  const links = document.querySelectorAll("a");
  [...links].find((link) => new URL(link.href, document.baseURI).pathname.endsWith(`/${name}`))?.click();
}

const marks = () => ({ query: tr("from here"), key: tr("attended to"), both: tr("attended to from here") });
