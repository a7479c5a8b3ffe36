// @ts-check
// The static page: a sentence, its translation, and all heads. It fetches the model's file beside it, and nothing else.

/** @import { Answer, Predicted } from "./worker.js" */
/** @import { KindData, Selection } from "../core/drawing/head_explorer.js" */
/** @import { Texts } from "../core/drawing/texts.js" */
/** @import { Figure1Code, Figure1Model } from "../core/drawing/types" */

import { element, meter, spelled } from "../core/drawing/dom.js";
import { drawFigureOfHeads } from "../core/drawing/figure1_heads.js";
import { exploreHeads } from "../core/drawing/head_explorer.js";
import { decimal } from "../core/drawing/numbers.js";
import { setTexts, tr } from "../core/drawing/texts.js";

/**
 * @typedef {object} Model
 * @property {string} name
 * @property {string} title
 * @property {number} bytes Of its file.
 * @property {[string, string]} languages
 * @property {string[]} examples
 * @property {Figure1Model} facts
 *
 * @typedef {object} Data See build.py.
 * @property {Model[]} models The first opens first.
 * @property {Figure1Code} code
 * @property {string} kernel In base64.
 * @property {string} worker
 * @property {Record<string, { name: string, text: string, titles: [string, string] }>} kinds
 * @property {Record<string, [name: string, texts: Texts]>} languages By code.
 */

/** @type {Data} */
const data = JSON.parse(byId("data").textContent ?? "");
const worker = new Worker(URL.createObjectURL(new Blob([data.worker], { type: "text/javascript" })));
const [form, status] = [element("form"), element("p", "status")];
const [result, heads, figure] = [element("section"), element("section"), element("section", "figure")];
const progress = element("progress");
const text = element("input");
const picks = { model: element("select"), search: element("select"), language: element("select") };
/** @type {Set<string>} Models in the worker. */
const opened = new Set();
/** @type {Selection} */
let selection = { kind: "cross", layer: 0, head: 0, view: "Lines", side: "query", words: [] };
let [number, waits, isBusy] = [0, false, false];
/** @type {Answer | undefined} */
let shown;
/** @type {ReturnType<typeof exploreHeads> | undefined} */
let explorer;
/** @type {ReturnType<typeof drawFigureOfHeads> | undefined} */
let figure1;

/** The sentence, the model and the language are in the address, so that a link can name them. */
function build() {
  const address = new URLSearchParams(location.hash.slice(1));
  const browser = navigator.languages.map((each) => each.slice(0, 2)).find((code) => code in data.languages);
  picks.language.append(...Object.entries(data.languages).map(([code, [name]]) => new Option(name, code)));
  picks.language.value = address.get("language") ?? browser ?? "en";
  if (!picks.language.value) picks.language.value = "en";
  write();
  picks.model.value = data.models.some(({ name }) => name === address.get("model"))
    ? (address.get("model") ?? "")
    : data.models[0].name;
  picks.search.value = address.get("search") === "1" ? "1" : "4";
  text.value = address.get("text") ?? model().examples[0];
  text.oninput = () => void ask();
  form.onsubmit = (event) => (event.preventDefault(), void ask());
  picks.model.onchange = () => {
    if (data.models.some(({ examples }) => examples.includes(text.value))) text.value = model().examples[0];
    void ask();
  };
  picks.search.onchange = () => void ask();
  picks.language.onchange = () => (write(), draw());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  worker.onmessage = ({ data: answer }) => receive(answer);
  void ask();
}

/** Write all that depends on the language alone. */
function write() {
  const code = picks.language.value;
  document.documentElement.lang = code;
  setTexts(data.languages[code][1]);
  const chosen = [picks.model.value, picks.search.value];
  picks.model.replaceChildren(...data.models.map(({ title, name }) => new Option(tr(title), name)));
  picks.search.replaceChildren(new Option(tr("Beam of 4"), "4"), new Option(tr("Greedy"), "1"));
  [picks.model.value, picks.search.value] = chosen;
  const named = [
    [picks.model, tr("Model")],
    [picks.search, tr("Search")],
    [picks.language, tr("Language")],
    [text, tr("Sentence")],
  ];
  for (const [node, name] of /** @type {[HTMLElement, string][]} */ (named)) node.setAttribute("aria-label", name);
  text.placeholder = tr("Type a sentence");
  const head = element("header");
  head.append(element("h1", "", "Headlight"), picks.model, picks.search, picks.language);
  form.replaceChildren(text);
  const about = tr(
    "The Transformer of “Attention Is All You Need” runs in this browser: nothing that you type leaves it. Attention weights show which tokens a head mixed, not why the model chose its words. Layers and heads are counted from 1.",
  );
  byId("page").replaceChildren(head, form, status, result, heads, figure, element("footer", "faint", about));
}

function model() {
  return /** @type {Model} */ (data.models.find(({ name }) => name === picks.model.value));
}

/** Ask for what is typed, unless an answer is awaited: then after it. */
async function ask() {
  waits = isBusy;
  if (isBusy) return;
  isBusy = true;
  const { name } = model();
  try {
    const file = opened.has(name) ? undefined : await loaded(name);
    const kernel = file && Uint8Array.from(atob(data.kernel), (letter) => letter.charCodeAt(0)).buffer;
    opened.add(name);
    const request = {
      number: ++number,
      model: name,
      file,
      kernel,
      text: text.value,
      beamSize: Number(picks.search.value),
    };
    worker.postMessage(request, file ? [file] : []);
  } catch (error) {
    isBusy = false;
    status.replaceChildren(tr("The model could not be loaded: {reason}", { reason: String(error) }));
  }
}

/** @param {string} name @returns {Promise<ArrayBuffer>} The file within this one, or beside it. */
async function loaded(name) {
  const inside = document.getElementById(`model ${name}`);
  Object.assign(progress, { max: model().bytes, value: 0 });
  status.replaceChildren(progress, tr("Loading the model"));
  if (inside) {
    const bytes = Uint8Array.from(atob(inside.textContent ?? ""), (letter) => letter.charCodeAt(0));
    return bytes.buffer;
  }
  const response = await fetch(`${name}.safetensors`);
  if (!response.ok || !response.body) throw new Error(`${response.status} ${response.url}`);
  const file = new Uint8Array(model().bytes);
  const reader = response.body.getReader();
  for (let place = 0; ;) {
    const { done, value } = await reader.read();
    if (done) return file.buffer;
    file.set(value, place);
    place += value.length;
    progress.value = place;
  }
}

/** @param {Answer} answer */
function receive(answer) {
  isBusy = false;
  if (waits) return void ask();
  shown = answer;
  if (!answer.refused) selection = { ...selection, kind: "cross", ...answer.first };
  const address = { model: picks.model.value, search: picks.search.value, language: picks.language.value };
  if (location.protocol !== "about:") {
    history.replaceState(null, "", `#${new URLSearchParams({ text: text.value, ...address })}`);
  }
  draw();
}

function draw() {
  if (!shown) return;
  status.replaceChildren(shown.refused ? tr("Not translated: {reason}", { reason: shown.refused }) : "");
  if (shown.refused) return;
  drawTranslation(shown);
  const kinds = Object.entries(shown.kinds).map(([kind, words]) => {
    const { name, text, titles } = data.kinds[kind];
    const [query, key] = titles.map((title) => tr(title));
    return /** @type {KindData} */ ({ ...words, kind, name: tr(name), text: tr(text), titles: { query, key } });
  });
  explorer?.disconnect();
  explorer = exploreHeads(heads, kinds, { ...selection, words: [] }, (changed) => (selection = changed));
  drawFigure(shown);
}

/** @param {Answer} answer */
function drawFigure(answer) {
  figure1?.disconnect();
  const place = element("div");
  figure.replaceChildren(element("h2", "", tr("The model, and this sentence in it")), place);
  figure1 = drawFigureOfHeads(place, { ...answer.figure1, model: model().facts, code: data.code }, (head) => {
    selection = { ...selection, ...head, words: [] };
    explorer?.select(selection);
    heads.scrollIntoView({ behavior: "smooth" });
  });
}

/** @param {Answer} answer */
function drawTranslation({ predicted, hypotheses }) {
  const line = element("p", "translation");
  const about = element("div", "alternatives");
  const joined = predicted.map(({ spans }) => spans[0][0] === "\u00b7");
  const buttons = predicted.map((each, index) => tokenButton(each, joined[index + 1] ?? true));
  const choose = (/** @type {number} */ index) => {
    buttons.forEach((node, at) => node.setAttribute("aria-pressed", String(at === index)));
    about.replaceChildren(alternatives(predicted[index]));
  };
  buttons.forEach((node, index) => (node.onclick = () => choose(index)));
  line.lang = model().languages[1];
  line.append(...buttons);
  const others = element("details");
  others.append(element("summary", "", tr("Other translations")), hypothesisList(hypotheses));
  result.replaceChildren(line, about, ...(hypotheses.length > 1 ? [others] : []));
  const least = predicted.reduce((best, { logProb }, index) => (logProb < predicted[best].logProb ? index : best), 0);
  choose(least);
}

/** @param {Predicted} token @param {boolean} goesOn Whether the next one belongs to the same word. */
function tokenButton({ spans, logProb }, goesOn) {
  const node = element("button", goesOn ? "token" : "token last");
  node.type = "button";
  const bar = element("i");
  bar.style.width = `${100 * Math.exp(logProb)}%`;
  node.append(...spelled(spans.filter(([mark]) => mark !== "\u00b7")), bar);
  node.title = decimal(Math.exp(logProb), 3);
  return node;
}

/** @param {Predicted} token */
function alternatives({ others }) {
  const list = element("ol");
  for (const [spans, logProb] of others) {
    const row = element("li");
    const probability = element("span", "number", decimal(Math.exp(logProb), 3));
    row.append(...spelled(spans), probability, meter(Math.exp(logProb)));
    list.append(row);
  }
  return list;
}

/** @param {Answer["hypotheses"]} hypotheses */
function hypothesisList(hypotheses) {
  const list = element("ol");
  for (const { text, score } of hypotheses) {
    const row = element("li", "", text);
    row.append(element("span", "number faint", decimal(score, 3)));
    list.append(row);
  }
  return list;
}

/** @param {string} id */
function byId(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}

build();
