// @ts-check
// A sentence and its translation as words to click; a click beside them turns the sentence into its text box.

/** @import { Span } from "../../core/drawing/types" */
/** @import { Component } from "./streamlit" */

import { button, element, goTo, group, meter, restoreFocus, textOf } from "../../core/drawing/dom.js";
import { scrolling } from "../../core/drawing/scrolling.js";
import { decimal } from "../../core/drawing/numbers.js";
import { tr } from "../../core/drawing/texts.js";
import { previewOnEnter } from "./preview.js";
import { edit, editButton, wordsAfterEnter } from "./sentence_edit.js";
import { translationMenu } from "./translation_menu.js";
import { listen, onSelected, select, tellPointed } from "./linked_words.js";
import { component } from "./renderer.js";

const CURSIVE = /^[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mongolian}\p{Script=Nko}]$/u;
// Letters that never join the one after them: alef, dal, reh, waw and related ones (Joining_Type R and U of Unicode).
const ENDS_STROKE =
  /^[\u0621-\u0625\u0627\u0629\u062f-\u0632\u0648\u0671-\u0677\u0688-\u0699\u06c0\u06c3-\u06cb\u06cd\u06cf\u06d2\u06d3\u06d5\u06e5\u06e6\u06ee\u06ef]$/;
const MARGIN = 24; // pixels at the edge of a long sentence that fade, see the style sheet
const JOINER = "\u200d"; // zero-width joiner: shapes a letter as if it were joined to one of another piece

/**
 * @typedef {"source" | "target"} Side
 * @typedef {{ spans: Span[], probability: number | null }} Piece
 * @typedef {{ start: number, glued: boolean, direction: string, leftOut: boolean, pieces: Piece[] }} Word
 *
 * @typedef {object} Data See `sentence_payload`.
 * @property {Word[]} source
 * @property {Word[]} target
 * @property {Record<Side, string>} directions
 * @property {string[]} selected Names of words.
 * @property {string} ticket To ask for previews of other sentences; "": there are none.
 * @property {import("./translation_menu.js").Choice[]} translations
 * @property {number} shown Number of the translation that is shown.
 * @property {boolean} editable Whether another sentence can be typed.
 */

/**
 * The selection, which is decided here for all drawings, so that quick clicks all count. A selection that was sent
 * stands until the page arrives with it, or with another sentence.
 * @type {WeakMap<HTMLElement, { about: string, words: string[], sent: boolean }>}
 */
const selections = new WeakMap();

export default component((/** @type {Component<Data>} */ { data, root, focused, setTriggerValue }) => {
  const scrolled = new Map(all(root, ".side").map((each) => [each.textContent, each.scrollTop]));
  const before = highlighted(root);
  const isFirst = !selections.has(root);
  const selected = currentSelection(root, data);
  const target = element("div", "target");
  const menu = translationMenu(data.translations, data.shown, (number) => setTriggerValue("translation", number));
  target.append(menu, sentence("target", data, selected));
  const source = element("div", "source");
  source.append(sentence("source", data, selected), ...(data.editable ? [editButton()] : []));
  root.replaceChildren(source, target);
  root.classList.toggle("editable", data.editable);
  root.onclick = ({ target }) => void (data.editable && isIn(target, ":not(button, button *, .choices)") && edit());
  root.ondblclick = ({ target }) => void (data.editable && isIn(target, ".source, .source *") && edit());
  for (const each of all(root, "[data-control]")) restoreFocus([each], focused);
  for (const each of all(root, ".side")) restoreFocus([...each.querySelectorAll("button")], focused); // arrow keys go on
  for (const each of all(root, ".side")) each.scrollTop = scrolled.get(each.textContent) ?? 0;
  if (highlighted(root) !== before) reveal(root.querySelector(".on"));
  // A transition of no length of a colour of the page ends when the theme changes: the server makes new pictures.
  root.ontransitionend = (event) => event.target === root && setTriggerValue("theme", true);
  for (const word of all(root, ".word")) {
    word.onmouseenter = word.onfocus = () => tellPointed(root, { words: [nameOf(word)] });
    word.onmouseleave = word.onblur = () => tellPointed(root, null);
  }
  const stops = [
    previewOnEnter(data.ticket),
    wordsAfterEnter(() => root.querySelector(".edit"), isFirst),
    onSelected(root, (word, also) => change(root, word, also, (words) => setTriggerValue("words", words))),
    listen(root, (place) => {
      for (const word of all(root, ".word"))
        word.classList.toggle("pointed", Boolean(place?.words.includes(nameOf(word))));
      for (const each of all(root, ".side")) reveal(each.querySelector(".pointed"));
    }),
  ];
  return () => stops.forEach((stop) => stop());
});

/** @param {HTMLElement} root @param {Data} data */
function currentSelection(root, data) {
  const about = JSON.stringify([data.source, data.target]);
  const last = selections.get(root);
  if (last?.sent && last.about === about && String(last.words) !== String(data.selected)) return last.words;
  selections.set(root, { about, words: data.selected, sent: false });
  return data.selected;
}

/**
 * Change the selection as a click on a word does, here or in another drawing.
 * @param {HTMLElement} root
 * @param {string} name
 * @param {boolean} also
 * @param {(words: string[]) => void} send
 */
function change(root, name, also, send) {
  const last = selections.get(root);
  if (!last) return;
  const words = selectedAfter(last.words, name, also);
  selections.set(root, { about: last.about, words, sent: true });
  for (const word of all(root, ".word")) {
    mark(word, words);
    if (nameOf(word) === name) reveal(word);
  }
  send(words);
}

/**
 * @param {string[]} selected
 * @param {string} name "": clear the selection.
 * @param {boolean} also Add the word or take it away, in place of selecting it alone.
 */
function selectedAfter(selected, name, also) {
  const others = selected.filter((each) => each !== name);
  if (!name) return [];
  if (also) return others.length < selected.length ? others : [...selected, name];
  return selected.length === 1 && !others.length ? [] : [name];
}

/** @param {HTMLElement} word @param {string[]} selected */
function mark(word, selected) {
  const on = selected.includes(nameOf(word));
  word.classList.toggle("on", on);
  word.setAttribute("aria-pressed", String(on));
}

/** @param {EventTarget | null} target @param {string} selector */
function isIn(target, selector) {
  return target instanceof Element && target.matches(selector);
}

/** @param {HTMLElement} root @param {string} selector */
function all(root, selector) {
  return /** @type {HTMLElement[]} */ ([...root.querySelectorAll(selector)]);
}

/** @param {HTMLElement} root */
function highlighted(root) {
  return all(root, ".on").map(nameOf).join();
}

/** Scroll a long sentence to a word; the page stays where it is. @param {HTMLElement | null} word */
function reveal(word) {
  const side = word?.closest(".side");
  if (!word || !side) return;
  const [most, least] = [word.offsetTop - MARGIN, word.offsetTop + word.offsetHeight + MARGIN - side.clientHeight];
  side.scrollTop = Math.max(least, Math.min(most, side.scrollTop));
}

/** The name that all drawings give a word, see `links` in word_links.py. @param {HTMLElement} word */
function nameOf({ dataset }) {
  return `${dataset.side} ${dataset.start}`;
}

/** @param {Side} side @param {Data} data @param {string[]} selected */
function sentence(side, data, selected) {
  const list = group("side", side === "source" ? tr("Source") : tr("Translation"));
  list.dir = data.directions[side];
  /** @type {HTMLButtonElement[]} */
  const words = data[side].map((word, index) => wordButton(side, word, selected, (event) => move(words, index, event)));
  list.append(...runs(words));
  scrolling(list);
  return list;
}

/** @param {Side} side @param {Word} word @param {string[]} selected @param {(event: KeyboardEvent) => void} onMove */
function wordButton(side, { start, glued, direction, leftOut, pieces }, selected, onMove) {
  const node = button(`word${glued ? " glued" : ""}${leftOut ? " left-out" : ""}`);
  Object.assign(node.dataset, { side, start });
  mark(node, selected);
  node.setAttribute("aria-label", spoken(pieces));
  if (leftOut) node.setAttribute("aria-description", leftOutText());
  node.dir = direction;
  node.append(...pieces.map((each, at) => pieceSpan(each, joins(pieces[at - 1], each), joins(each, pieces[at + 1]))));
  node.title = [...pieces.flatMap(described), ...(leftOut ? [leftOutText()] : [])].join("\n");
  node.onclick = (event) => select(nameOf(node), event);
  node.oncontextmenu = (event) => {
    if (/** @type {PointerEvent} */ (event).pointerType !== "touch") return;
    event.preventDefault(); // a long touch adds a word, as there is no key to hold
    select(nameOf(node), { shiftKey: true });
  };
  node.onkeydown = (event) => (event.key === "Escape" ? select("", event) : onMove(event));
  return node;
}

function leftOutText() {
  return tr("Probably left out: the translation is more probable without this word in the source.");
}

/** Words with the punctuation behind them, between which no line ends. @param {HTMLElement[]} words */
function runs(words) {
  /** @type {HTMLElement[]} */
  const all = [];
  for (const word of words) {
    if (!word.classList.contains("glued") || !all.length) all.push(element("span", "run"));
    all[all.length - 1].append(word);
  }
  return all;
}

/** @param {Piece} piece @param {boolean} joinsLast @param {boolean} joinsNext */
function pieceSpan({ spans, probability }, joinsLast, joinsNext) {
  const box = element("span", "piece");
  const text = element("span", "spans");
  const joined = (/** @type {string} */ part) => (joinsLast ? JOINER : "") + part + (joinsNext ? JOINER : "");
  text.append(...spans.map(([part, style]) => element("span", style, style ? part : joined(part))));
  box.append(text);
  if (probability !== null) box.append(meter(probability, "track", element("div", "bar")));
  return box;
}

/** @param {Piece} piece */
function described({ spans, probability }) {
  if (probability === null) return [];
  const number = tr("probability {probability}", { probability: decimal(probability, 3) });
  return [`${textOf(spans)}  ${number}`];
}

/**
 * Whether two pieces meet within a cursive script, whose letters take another form there.
 * @param {Piece | undefined} first
 * @param {Piece | undefined} second
 */
function joins(first, second) {
  if (!first || !second) return false;
  const [before, after] = [first, second].map((piece) => [...spoken([piece]).replace(/\p{M}/gu, "")]);
  const last = before[before.length - 1] ?? "";
  return CURSIVE.test(last) && CURSIVE.test(after[0] ?? "") && !ENDS_STROKE.test(last);
}

/** Text for screen readers: without joint marks. @param {Piece[]} pieces */
function spoken(pieces) {
  const spans = pieces.flatMap((each) => each.spans);
  return textOf(spans.filter(([, style]) => style !== "faint")) || textOf(spans);
}

/** @param {HTMLElement[]} words @param {number} index @param {KeyboardEvent} event */
function move(words, index, event) {
  /** @type {Record<string, number>} */
  const goals = { ArrowRight: index + 1, ArrowLeft: index - 1, Home: 0, End: words.length - 1 };
  const word = words[goals[event.key]];
  if (!word) return;
  event.preventDefault();
  goTo(word, words);
}
