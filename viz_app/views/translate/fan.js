// @ts-check
// A fan: a row for each translation, from the word on where it leaves the row that it hangs from.

/** @import { Component } from "../../components/streamlit" */

import { button, element, goTo, group, restoreFocus } from "../../../core/drawing/dom.js";
import { lineStyle } from "../../../core/drawing/line_style.js";
import { scrolling } from "../../../core/drawing/scrolling.js";
import { decimal } from "../../../core/drawing/numbers.js";
import { tr, trCount } from "../../../core/drawing/texts.js";
import { component } from "../../components/renderer.js";

/**
 * @typedef {object} Row
 * @property {number | null} rank As a hypothesis of the beam, from 1.
 * @property {number} samples How many samples it is.
 * @property {number | null} value
 * @property {number} share
 * @property {string} text
 * @property {string} note What became of it.
 * @property {string} shared Its beginning, which stands in the row that it hangs from.
 * @property {string} own
 * @property {number | null} parent
 * @property {boolean} shown Whether it is the translation that all pages explain.
 *
 * @typedef {object} Data See `fan_payload`.
 * @property {Row[]} rows
 * @property {string} title Of the values.
 * @property {string} direction
 */

export default component((/** @type {Component<Data>} */ { data, root, focused, setTriggerValue }) => {
  const frame = element("div", "frame");
  const table = group("fan", tr("Hypotheses and samples"));
  table.classList.toggle("sampled", hasSamples(data));
  table.append(heading(data), ...data.rows.map((row, number) => line(row, number, data)));
  frame.append(table);
  root.replaceChildren(frame);
  scrolling(frame);
  const lines = /** @type {HTMLElement[]} */ ([...table.querySelectorAll(".row")]);
  lines.forEach((node, number) => {
    const path = pathOf(data.rows, number);
    const mark = (/** @type {boolean} */ on) => {
      table.classList.toggle("dimmed", on);
      lines.forEach((each, other) => each.classList.toggle("on", on && path.includes(other)));
    };
    node.onmouseenter = node.onfocus = () => mark(true);
    node.onmouseleave = node.onblur = () => mark(false);
    node.onclick = () => setTriggerValue("row", number);
    node.onkeydown = (event) => {
      /** @type {Record<string, number>} */
      const goals = { ArrowDown: number + 1, ArrowUp: number - 1, Home: 0, End: lines.length - 1 };
      const goal = lines[goals[event.key]];
      if (!goal) return;
      event.preventDefault();
      goTo(goal, lines);
    };
  });
  restoreFocus(lines, focused);
});

/** @param {Data} data */
function hasSamples({ rows }) {
  return rows.some(({ samples }) => samples);
}

/** @param {Data} data */
function heading(data) {
  const head = element("div", "head");
  head.setAttribute("aria-hidden", "true"); // each row says what its numbers are
  head.append(element("span", "number", tr("beam")));
  if (hasSamples(data)) head.append(element("span", "number", tr("samples")));
  head.append(element("span", "number", data.title), element("span", "text"));
  return head;
}

/** @param {Row} row @param {number} number @param {Data} data */
function line({ rank, samples, value, share, shared, own, parent, shown, text: whole, note }, number, data) {
  const node = button(rank === null ? "row" : "row found");
  node.dataset.row = String(number);
  node.setAttribute("aria-pressed", String(shown));
  const text = element("span", "text");
  text.dir = data.direction;
  const rest = element("span", "own", own || "\u2205");
  if (parent !== null) {
    rest.classList.add("branch");
    rest.style.setProperty("--rise", String(number - parent));
    const { width, opacity, dash } = lineStyle(share);
    rest.style.setProperty("--thick", `${width}px`);
    rest.style.setProperty("--ink", `${100 * opacity}%`);
    rest.style.setProperty("--line", dash === "none" ? "solid" : "dotted");
  }
  text.append(element("span", "shared", shared), rest);
  node.append(element("span", "number", rank === null ? "" : String(rank)));
  if (hasSamples(data)) node.append(element("span", "number", samples ? `\u00d7${samples}` : ""));
  const written = value === null ? "" : decimal(value, 2);
  node.append(element("span", "number faint", written), text);
  const facts = [whole || tr("empty")];
  if (written) facts.push(`${data.title} ${written}`);
  if (rank !== null) facts.push(tr("number {rank} of the beam", { rank }));
  if (samples) facts.push(trCount("{count} sample", "{count} samples", samples));
  if (note) facts.push(note);
  node.setAttribute("aria-label", facts.join(", "));
  node.title = facts.join(", ");
  return node;
}

/** The row and those that it hangs from. @param {Row[]} rows @param {number | null} number @returns {number[]} */
function pathOf(rows, number) {
  return number === null ? [] : [number, ...pathOf(rows, rows[number].parent)];
}
