// @ts-check
// The hypotheses of a translation in a notebook.

/* global STYLE */

/** @import { Span } from "../drawing/types" */
/** @import { Render } from "./anywidget" */

import { button, element, goTo, isolated, meter, moveInRows, spelled, tableRow } from "../drawing/dom.js";
import { mount, onChange } from "./widget.js";

/**
 * @typedef {object} Hypothesis
 * @property {string} text
 * @property {string[]} numbers As in the header.
 * @property {{ spans: Span[], name: string, logProb: number }[]} tokens
 *
 * Traits of `HypothesisView` in hypothesis_view.py.
 * @typedef {object} Traits
 * @property {{ source: string, header: string[], hypotheses: Hypothesis[] }} _data
 * @property {number} hypothesis
 */

/** @type {Render<Traits>} */
function render({ model, el }) {
  return mount(el, STYLE, (root) => {
    const draw = () => {
      const { source, header, hypotheses } = model.get("_data");
      const sentence = element("p", "sentence");
      sentence.append(isolated(source));
      const choose = (/** @type {number} */ index) => {
        model.set("hypothesis", index);
        model.save_changes();
      };
      const selected = model.get("hypothesis");
      const inside = root.contains(/** @type {ShadowRoot} */ (root.getRootNode()).activeElement);
      const rows = hypotheses.map((hypothesis, index) => row(hypothesis, index, index === selected, choose));
      const table = element("table", "hypotheses");
      const titles = header.map((text) => [text]);
      table.append(tableRow("th", titles, [0, 2, 3, 4]), ...rows.map(({ line }) => line));
      const buttons = rows.map(({ node }) => [node]);
      table.onkeydown = (event) => moveInRows(buttons, event);
      root.replaceChildren(sentence, table, ...tokens(hypotheses[selected]));
      if (inside) goTo(buttons[selected][0], []);
    };
    draw();
    const stop = onChange(model, ["_data", "hypothesis"], draw);
    return { recolor() {}, disconnect: stop };
  });
}

/** @param {Hypothesis} hypothesis @param {number} index @param {boolean} on @param {(index: number) => void} choose */
function row({ text, numbers }, index, on, choose) {
  const node = button("text", on);
  Object.assign(node.dataset, { row: index, column: 0 });
  node.setAttribute("aria-pressed", String(on));
  node.append(isolated(text));
  node.onclick = () => choose(index);
  const line = tableRow("td", [[String(index + 1)], [node], ...numbers.map((number) => [number])], [0, 2, 3, 4]);
  line.className = on ? "on" : "";
  return { line, node };
}

/** The tokens of a hypothesis, each above a bar of its probability. @param {Hypothesis} hypothesis */
function tokens({ tokens: listed }) {
  const strip = element("div", "tokens");
  const readout = element("p", "faint readout", "Hover a token, or reach it with Tab, to read its probability.");
  readout.setAttribute("role", "status");
  for (const { spans, name, logProb } of listed) {
    const node = element("span", "token");
    node.tabIndex = 0;
    const facts = `${name}: probability ${Math.exp(logProb).toFixed(3)}, log-probability ${logProb.toFixed(3)}`;
    node.setAttribute("aria-label", facts);
    node.onmouseenter = node.onfocus = () =>
      readout.replaceChildren(facts.replace("-probability -", "-probability \u2212"));
    const word = element("span");
    word.append(...spelled(spans));
    node.append(word, meter(Math.exp(logProb)));
    strip.append(node);
  }
  return [strip, readout];
}

export default { render };
