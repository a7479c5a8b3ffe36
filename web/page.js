// @ts-check
// The static page: a sentence, its translation, and all heads. It fetches the model's file beside it, and nothing else.

/** @import { Answer, Predicted } from "./worker.js" */
/** @import { KindData, Selection } from "../core/drawing/head_explorer.js" */
/** @import { Texts } from "../core/drawing/texts.js" */
/** @import { Figure1Code, Figure1Model } from "../core/drawing/types" */

import { byId, element, meter, spelled, textOf } from "../core/drawing/dom.js";
import { drawFigureOfHeads } from "../core/drawing/figure1_heads.js";
import { exploreHeads } from "../core/drawing/head_explorer.js";
import { decimal } from "../core/drawing/numbers.js";
import { setTexts, tr, trCount } from "../core/drawing/texts.js";

/**
 * @typedef {object} Model
 * @property {string} name
 * @property {string} title
 * @property {number} bytes Of its file.
 * @property {[string, string]} languages
 * @property {Example[]} examples The first opens first.
 * @property {Figure1Model} facts
 *
 * @typedef {Pick<Selection, "kind" | "layer" | "head">} Place
 * @typedef {{ sentence: string, notice: string, place: Place, word: string }} Example With the head and the word to show.
 *
 * @typedef {object} Data See build.py.
 * @property {Model[]} models The first opens first.
 * @property {Figure1Code} code
 * @property {string} kernel In base64.
 * @property {string} worker
 * @property {Record<string, { name: string, text: string, titles: [string, string] }>} kinds
 * @property {Record<string, [name: string, texts: Texts]>} languages By code.
 */

const NAMED = 5; // characters that the vocabulary lacks

/** @type {Data} */
const data = JSON.parse(byId("data").textContent ?? "");
const worker = new Worker(URL.createObjectURL(new Blob([data.worker], { type: "text/javascript" })));
const [entry, status] = [element("div"), element("p", "status")];
const [result, heads, figure] = [element("section"), element("section"), element("section", "figure")];
const [examples, notes] = [element("div", "examples"), element("section")];
const progress = element("progress");
const text = element("textarea");
const picks = { model: element("select"), search: element("select"), language: element("select") };
/** @type {Set<string>} Models in the worker. */
const opened = new Set();
/** @type {Selection} */
let selection = { kind: "cross", layer: 0, head: 0, view: "Lines", side: "query", words: [] };
let [number, waits, isBusy] = [0, false, false];
/** @type {number[]} Tokens that the translation is forced to begin with. */
let prefix = [];
/** @type {Place | undefined} The head that the address names. */
let asked;
/** @type {Answer | undefined} */
let shown;
/** @type {ReturnType<typeof exploreHeads> | undefined} */
let explorer;
/** @type {ReturnType<typeof drawFigureOfHeads> | undefined} */
let figure1;
/** @type {string | undefined} */
let stop; // of Play

function build() {
  picks.language.append(...Object.entries(data.languages).map(([code, [name]]) => new Option(name, code)));
  read();
  text.oninput = () => void ask([]);
  text.onkeydown = ({ key }) => key !== "Enter"; // a sentence is one line
  picks.model.onchange = () => {
    if (data.models.some(({ examples }) => examples.some(isShown))) text.value = model().examples[0].sentence;
    void ask([]);
  };
  picks.search.onchange = () => void ask();
  picks.language.onchange = () => (write(), draw());
  window.onhashchange = () => (read(), void ask());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  worker.onmessage = ({ data: answer }) => receive(answer);
  void ask();
}

/** What is shown, the language too, is in the address, so that a link can name it. */
function read() {
  const address = new URLSearchParams(location.hash.slice(1));
  const spoken = [address.get("language") ?? "", ...navigator.languages.map((each) => each.slice(0, 2)), "en"];
  picks.language.value = spoken.find((code) => code in data.languages) ?? "en";
  write();
  picks.model.value = address.get("model") ?? "";
  if (!picks.model.value) picks.model.value = data.models[0].name;
  picks.search.value = address.get("search") === "1" ? "1" : "4";
  text.value = address.get("text") ?? model().examples[0].sentence;
  stop = address.get("play") ?? undefined;
  prefix = (address.get("prefix") ?? "").split(".").filter(Boolean).map(Number);
  const [kind, ...counted] = (address.get("head") ?? "").split(".");
  const [layer, head] = counted.map((each) => parseInt(each) - 1);
  asked = kind in data.kinds && layer >= 0 && head >= 0 ? { kind, layer, head } : undefined;
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
  [picks.model.ariaLabel, picks.search.ariaLabel] = [tr("Model"), tr("Search")];
  [picks.language.ariaLabel, text.ariaLabel] = [tr("Language"), tr("Sentence")];
  Object.assign(text, { placeholder: tr("Type a sentence"), rows: 1 });
  const head = element("header");
  head.append(element("h1", "", "Headlight"), picks.model, picks.search, picks.language);
  entry.replaceChildren(text, examples);
  const about = tr(
    "The Transformer of “Attention Is All You Need” runs in this browser: nothing that you type leaves it. Attention weights show which tokens a head mixed, not why the model chose its words. Layers and heads are counted from 1.",
  );
  byId("page").replaceChildren(head, entry, status, result, notes, heads, figure, element("footer", "faint", about));
}

function model() {
  return /** @type {Model} */ (data.models.find(({ name }) => name === picks.model.value));
}

/** @param {Example} example */
function isShown({ sentence }) {
  return sentence === text.value;
}

/** Ask for what is typed, unless an answer is awaited: then after it. @param {number[]} begun */
async function ask(begun = prefix) {
  prefix = begun;
  waits = isBusy;
  if (isBusy) return;
  isBusy = true;
  const { name } = model();
  try {
    const file = opened.has(name) ? undefined : await loaded(name);
    const kernel = file && Uint8Array.from(atob(data.kernel), (letter) => letter.charCodeAt(0)).buffer;
    opened.add(name);
    const beamSize = Number(picks.search.value);
    const request = { number: ++number, model: name, file, kernel, text: text.value, beamSize, prefix };
    worker.postMessage(request, file ? [file] : []);
  } catch (error) {
    isBusy = false;
    const apart = tr(
      "This page was opened from the disk, or in a frame that keeps it apart, so that it cannot load its model. The file headlight.html beside it has the model inside.",
    );
    const reason = tr("The model could not be loaded: {reason}", { reason: String(error) });
    status.replaceChildren(window.origin === "null" ? apart : reason);
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
  if (!answer.refused) select(answer);
  draw();
}

/** Show the head that the address or the example names; after a forced word, that of before. @param {Answer} answer */
function select({ first, kinds }) {
  const example = prefix.length ? undefined : model().examples.find(isShown);
  const place = asked ?? example?.place ?? (prefix.length ? selection : { kind: "cross", ...first });
  const { query, predicted } = kinds[place.kind];
  const row = (predicted ?? query).findIndex((spans) => textOf(spans) === example?.word);
  selection = { ...selection, ...place, side: "query", words: row < 0 ? [] : [row] };
  asked = undefined;
}

function writeAddress() {
  const { kind, layer, head } = selection;
  const chosen = { model: picks.model.value, search: picks.search.value, language: picks.language.value };
  const all = new URLSearchParams({ text: text.value, ...chosen, head: `${kind}.${layer + 1}.${head + 1}` });
  if (prefix.length) all.set("prefix", prefix.join("."));
  if (stop) all.set("play", stop);
  if (location.protocol !== "about:") history.replaceState(null, "", `#${all}`); // a page within another has no address
}

function draw() {
  drawExamples();
  if (!shown) return;
  writeAddress();
  status.replaceChildren(shown.refused ? tr("Not translated: {reason}", { reason: shown.refused }) : "");
  if (shown.refused) return;
  drawTranslation(shown);
  drawNotes(shown);
  const kinds = Object.entries(shown.kinds).map(([kind, words]) => {
    const { name, text, titles } = data.kinds[kind];
    const [query, key] = titles.map((title) => tr(title));
    return /** @type {KindData} */ ({ ...words, kind, name: tr(name), text: tr(text), titles: { query, key } });
  });
  explorer?.disconnect();
  explorer = exploreHeads(heads, kinds, selection, (changed) => ((selection = changed), writeAddress()));
  drawFigure(shown);
}

function drawExamples() {
  const others = model().examples.filter((each) => !isShown(each));
  const buttons = others.map(({ sentence }) => action("", sentence, () => ((text.value = sentence), void ask([]))));
  examples.replaceChildren(element("span", "faint", tr("Try")), ...buttons);
}

/** What to notice, and what the model cannot read. @param {Answer} answer */
function drawNotes({ unseen }) {
  const notice = prefix.length ? undefined : model().examples.find(isShown)?.notice;
  notes.replaceChildren(...(notice ? [element("p", "notice", tr(notice))] : []));
  const names = unseen.map((each) => `${each} (U+${each.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")})`);
  if (names.length > NAMED) names.splice(NAMED, Infinity, "\u2026");
  const lacking = trCount(
    "The vocabulary of the model lacks the character {characters}. It met it in training seldom or never, and may write anything in its place.",
    "The vocabulary of the model lacks the characters {characters}. It met them in training seldom or never, and may write anything in their place.",
    unseen.length,
    { characters: names.join(", ") },
  );
  if (names.length) notes.append(element("p", "notice", lacking));
}

/** @param {string} style @param {string} [label] @param {() => void} [onclick] */
function action(style, label, onclick) {
  return Object.assign(element("button", style, label), { type: "button", onclick });
}

/** @param {Answer} answer */
function drawFigure(answer) {
  figure1?.disconnect();
  const place = element("div");
  figure.replaceChildren(element("h2", "", tr("The model, and this sentence in it")), place);
  const all = { ...answer.figure1, model: model().facts, code: data.code };
  figure1 = drawFigureOfHeads(place, all, selectHead, { stop, onPlay: (at) => ((stop = at), writeAddress()) });
}

/** @param {Pick<Selection, "kind" | "layer" | "head">} head */
function selectHead(head) {
  selection = { ...selection, ...head, words: [] };
  explorer?.select(selection);
  heads.scrollIntoView({ behavior: "smooth" });
}

/** @param {Answer} answer */
function drawTranslation({ predicted, hypotheses, figure1 }) {
  const line = element("p", "translation");
  const about = element("div", "alternatives");
  const buttons = predicted.map((each, index) =>
    tokenButton(each, figure1.predicted[index + 1]?.glued ?? true, index < prefix.length),
  );
  const choose = (/** @type {number} */ index) => {
    buttons.forEach((node, at) => node.setAttribute("aria-pressed", String(at === index)));
    about.replaceChildren(...alternatives(predicted, index));
    if (prefix.length) about.append(action("back", tr("Back to the model's own translation"), () => void ask([])));
  };
  buttons.forEach((node, index) => (node.onclick = () => choose(index)));
  line.lang = model().languages[1];
  line.append(...buttons);
  const others = element("details");
  others.append(element("summary", "", tr("Other translations")), hypothesisList(hypotheses));
  const hadFocus = result.contains(document.activeElement);
  result.replaceChildren(line, about, ...(hypotheses.length > 1 ? [others] : []));
  const least = predicted.reduce((best, { logProb }, index) => (logProb < predicted[best].logProb ? index : best), 0);
  const chosen = prefix.length ? prefix.length - 1 : least;
  choose(chosen);
  if (hadFocus) buttons[chosen].focus();
}

/** @param {Predicted} token @param {boolean} goesOn Whether the next one belongs to the same word. @param {boolean} forced */
function tokenButton({ spans, logProb }, goesOn, forced) {
  const node = action(`${goesOn ? "" : "last"} ${forced ? "forced" : ""}`);
  const bar = element("i");
  bar.style.width = `${100 * Math.exp(logProb)}%`;
  node.append(...spelled(spans.filter(([mark]) => mark !== "\u00b7")), bar);
  node.title = decimal(Math.exp(logProb), 3);
  return node;
}

/** @param {Predicted[]} predicted @param {number} position */
function alternatives(predicted, position) {
  const list = element("ol");
  const before = predicted.slice(0, position).map(({ id }) => id);
  for (const { id, spans, logProb } of predicted[position].others) {
    const node = action("", "", () => void ask([...before, id]));
    const probability = element("span", "number", decimal(Math.exp(logProb), 3));
    node.setAttribute("aria-pressed", String(id === predicted[position].id));
    node.append(...spelled(spans), probability, meter(Math.exp(logProb)));
    list.appendChild(element("li")).append(node);
  }
  return [element("span", "faint", tr("Pick another word here; the rest is translated again")), list];
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

build();
