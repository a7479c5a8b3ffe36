// @ts-check
// The exported page: draws the explanation that is stored in the same file. It fetches nothing.

/** @import { Figure1Data, Span } from "../drawing/types" */
/** @import { KindData, Selection, View } from "../drawing/head_explorer.js" */

import { byId, element, isolated, meter, spelled, tableRow } from "../drawing/dom.js";
import { drawFigureOfHeads } from "../drawing/figure1_heads.js";
import { VIEWS, exploreHeads } from "../drawing/head_explorer.js";

/**
 * @typedef {object} Data See `payload` in html_page.py.
 * @property {string} source
 * @property {string} target
 * @property {{ spans: Span[], logProb: number, others: [text: string, logProb: number][] }[]} predicted
 * @property {KindData[]} kinds
 * @property {Omit<Figure1Data, "scale"> | null} figure1
 * @property {[kind: string, layer: number, head: number]} first
 * @property {View} view
 * @property {number[]} rows Selected at first.
 * @property {{ title: string, text: string, questions: string[], back: [label: string, address: string] | null } | null} note
 * @property {[name: string, value: string][]} facts
 */

/** @type {Data} */
const data = JSON.parse(byId("data").textContent ?? "");
/** @type {string | undefined} */
let stop = location.hash.split(",")[4]; // of Play

function build() {
  const title = element("h1");
  title.append(isolated(data.source), element("span", "arrow", "\u2192"), isolated(data.target));
  const note =
    "Attention weights show which tokens a head mixed, not why the model chose its words. " +
    "Layers and heads are counted from 1.";
  const heads = element("div");
  if (data.note?.back)
    byId("page")
      .appendChild(element("p", "", "\u2190 "))
      .append(link(...data.note.back));
  if (data.note) byId("page").append(element("p", "about", data.note.title));
  byId("page").append(
    title,
    ...(data.note ? [emphasised("p", data.note.text)] : []),
    element("p", "faint", note),
    heads,
  );
  if (data.note?.questions.length) byId("page").append(questions(data.note.questions));
  const model = data.figure1 && element("section");
  if (model) byId("page").append(model);
  if (data.predicted.length) byId("page").append(tokens()); // none if the probabilities are unknown
  if (data.facts.length) byId("page").append(facts());
  const start = { ...firstSelection(), words: location.hash ? [] : data.rows };
  const { select, recolor } = exploreHeads(heads, data.kinds, start, writeAddress);
  const figure =
    model &&
    drawFigure(model, (head) => {
      select({ ...head, words: [] });
      heads.scrollIntoView({ behavior: "smooth" });
    });
  window.addEventListener("hashchange", () => select(firstSelection()));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    recolor();
    figure?.recolor();
  });
}

/** The head in the address, counted from 0, so that a link to this file can name it. @returns {Selection} */
function firstSelection() {
  const [name, layer, head, view] = decodeURIComponent(location.hash.slice(1)).split(",");
  const [firstKind, firstLayer, firstHead] = data.first;
  const known = data.kinds.some(({ kind }) => kind === name);
  const numbered = [layer, head].every((number) => /^\d+$/.test(number ?? ""));
  const place =
    known && numbered
      ? { kind: name, layer: Number(layer), head: Number(head) }
      : { kind: firstKind, layer: firstLayer, head: firstHead };
  return { ...place, view: VIEWS.find((each) => each === view) ?? data.view, side: "query", words: [] };
}

/** @param {Selection} selection */
function writeAddress({ kind, layer, head, view }) {
  // a page within another has no address of its own
  if (location.protocol !== "about:")
    history.replaceState(null, "", `#${[kind, layer, head, view, ...(stop ? [stop] : [])]}`);
}

/** @param {HTMLElement} section @param {Parameters<typeof drawFigureOfHeads>[2]} onHead */
function drawFigure(section, onHead) {
  const place = element("div");
  section.append(element("h2", "", "The model, and this sentence in it"), place);
  return drawFigureOfHeads(place, /** @type {Figure1Data} */ (data.figure1), onHead, {
    stop,
    onPlay: (at) => ((stop = at), writeAddress(firstSelection())),
  });
}

/** @param {string} label @param {string} address */
function link(label, address) {
  return Object.assign(element("a", "", label), { href: address });
}

/** @param {"p" | "li"} tag @param {string} text Words between asterisks are emphasised, [labels](addresses) are links. */
function emphasised(tag, text) {
  const node = element(tag);
  const parts = text.split(/\*([^*]*)\*|\[([^\]]*)\]\(([^)]*)\)/);
  for (let at = 0; at < parts.length; at += 4) {
    const [plain, word, label, address] = parts.slice(at);
    node.append(plain, ...(word ? [element("em", "", word)] : []), ...(label ? [link(label, address)] : []));
  }
  return node;
}

/** @param {string[]} texts */
function questions(texts) {
  const section = element("section");
  const list = element("ol");
  list.append(...texts.map((text) => emphasised("li", text)));
  section.append(element("h2", "", "Questions"), list);
  return section;
}

function tokens() {
  const section = element("section");
  const table = element("table");
  const header = ["", "token", "log-prob", "probability", "alternatives, with their probabilities"];
  const titles = header.map((text) => [text]);
  table.append(tableRow("th", titles, [0, 2, 3]));
  data.predicted.forEach(({ spans, logProb, others }, index) => {
    const probability = [Math.exp(logProb).toFixed(3), meter(Math.exp(logProb))];
    const listed = others.flatMap(([text, value], at) => [
      at ? ", " : "",
      isolated(text),
      ` ${Math.exp(value).toFixed(2)}`,
    ]);
    table.append(
      tableRow("td", [[String(index + 1)], spelled(spans), [logProb.toFixed(3)], probability, listed], [0, 2, 3]),
    );
  });
  section.append(element("h2", "", "Translation, token by token"), table);
  return section;
}

function facts() {
  const details = element("details");
  const table = element("table");
  for (const [name, value] of data.facts) table.append(tableRow("td", [[name], [value]]));
  details.append(element("summary", "", "Model, settings and versions"), table);
  return details;
}

build();
