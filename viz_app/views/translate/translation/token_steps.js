// @ts-check
// A translation as its tokens, and below them the alternatives at the selected one.

/** @import { Span } from "../../../../core/drawing/types" */
/** @import { Component } from "../../../components/streamlit" */

import { button, control, element, group, spelled } from "../../../../core/drawing/dom.js";
import { decimal } from "../../../../core/drawing/numbers.js";
import { tr, trCount } from "../../../../core/drawing/texts.js";
import { keep, restored } from "../../../components/address.js";
import { component } from "../../../components/renderer.js";

const TOKEN = "token"; // the selected position in the address, counted from 1
const PIECES = "pieces"; // 1: tokens are shown instead of words

/**
 * @typedef {{ spans: Span[], name: string, logProb: number, probability: number }} Scored
 * @typedef {{ position: number, token: string }} At
 * @typedef {{ choice: object, at: At | null, written: boolean, forbidden: boolean, kept: boolean, bound?: boolean }} Offered
 * @typedef {Scored & Offered} Option
 * @typedef {Scored & { glued: boolean, begun: string, options: Option[] }} Token
 * @typedef {{ first: number, last: number, options: Option[] }} Word
 *
 * @typedef {object} Data See `steps_payload`.
 * @property {Token[]} tokens
 * @property {Word[]} words
 * @property {string} direction
 * @property {number} forced
 * @property {[count: number, mass: number][] | null} kept Of each position, the tokens that samples are drawn from.
 * @property {number} step
 * @property {{ position: number, text: string, message: string } | null} problem
 *
 * @typedef {(choice: object) => void} Send
 * @typedef {{ send: Send, ask: Send, forbid: Send, change: () => void }} Actions
 */

/**
 * Position that the visitor has selected, and the data that it belongs to.
 * @type {WeakMap<HTMLElement, { about: string, position: number }>}
 */
const selections = new WeakMap();

export default component((/** @type {Component<Data>} */ { data, root, focused, setTriggerValue }) => {
  const about = JSON.stringify([data.step, data.problem, data.tokens.map(({ spans }) => spans)]);
  const last = selections.get(root);
  const linked = last || data.problem ? undefined : restored(TOKEN, 1, data.tokens.length, about);
  const first = linked === undefined ? (data.problem?.position ?? data.step) : linked - 1;
  let position = last?.about === about ? last.position : first;
  const hasPieces = () => !data.words.length || restored(PIECES, 1, 1) === 1;

  const panel = element("div", "panel");
  const tokens = data.tokens.map((token, at) => tokenButton(token, at < data.forced));
  const line = group("tokens", tr("Translation, token by token"));
  line.dir = data.direction;
  tokens.forEach((token, at) => place(line, token, data.tokens[at]));
  root.replaceChildren(line, panel);

  const sends = (/** @type {string} */ name) => (/** @type {object} */ choice) => setTriggerValue(name, choice);
  const actions = {
    ...{ send: sends("choice"), ask: sends("why"), forbid: sends("forbid") },
    change: () => {
      keep(PIECES, hasPieces() ? null : 1);
      open(position);
      /** @type {HTMLElement | null} */ (panel.querySelector("[data-role=pieces]"))?.focus();
    },
  };
  let shown = { first: 0, last: 0 };
  const open = (/** @type {number} */ goal) => {
    position = goal;
    const number = hasPieces() ? -1 : data.words.findIndex(({ first, last }) => first <= goal && goal <= last);
    shown = data.words[number] ?? { first: goal, last: goal };
    selections.set(root, { about, position });
    keep(TOKEN, position === data.step ? null : position + 1, about);
    tokens.forEach((token, at) => {
      token.setAttribute("aria-pressed", String(shown.first <= at && at <= shown.last));
      token.style.setProperty("--start", at === shown.first ? "-2px" : "0");
      token.style.setProperty("--end", at === shown.last ? "2px" : "0");
      token.tabIndex = at === position ? 0 : -1; // Tab reaches the line, arrow keys its tokens
    });
    fill(panel, data, position, number, actions);
  };
  tokens.forEach((token, at) => {
    token.onclick = () => open(at);
    token.onkeydown = (event) => {
      /** @type {Record<string, number>} */
      const goals = { ArrowRight: shown.last + 1, ArrowLeft: shown.first - 1, Home: 0, End: tokens.length - 1 };
      const goal = goals[event.key];
      if (event.key === "ArrowDown") optionsOf(panel)[0].focus();
      else if (tokens[goal]) {
        open(goal);
        tokens[goal].focus();
      } else return;
      event.preventDefault();
    };
  });
  panel.onkeydown = (event) => moveOptions(panel, tokens[position], event);
  open(position);
  const again =
    focused?.role === "token"
      ? tokens[position]
      : focused?.role === "option"
        ? panel.querySelector(".written")
        : focused?.role && panel.querySelector(`[data-role=${focused.role}]`);
  if (again instanceof HTMLElement) again.focus({ preventScroll: true });
});

/**
 * Put a token in its word, which stays on one line if there is room, and the bytes of a character always.
 * @param {HTMLElement} line
 * @param {HTMLElement} token
 * @param {Token} data
 */
function place(line, token, { spans, glued }) {
  const word = (glued && line.lastElementChild) || element("span", "word");
  if (spans[0][1] === "byte" && word.lastElementChild) return word.lastElementChild.append(token);
  const character = element("span", "character");
  character.append(token);
  word.append(character);
  if (!word.parentNode) line.append(" ", word);
}

/** @param {Token} token @param {boolean} forced */
function tokenButton({ spans, name, logProb, probability, options }, forced) {
  const node = button(forced ? "token forced" : "token");
  node.dataset.role = "token";
  node.style.setProperty("--tint", `${Math.round(60 * (1 - probability))}%`);
  node.append(...spans.map(([part, style]) => element("span", style, part)));
  const numbers = { name, probability: decimal(probability, 3), logProb: decimal(logProb, 3) };
  const facts = [tr("{name}, probability {probability}, log-probability {logProb}", numbers)];
  if (forced) facts.push(tr("forced"));
  else if (options.findIndex(({ written }) => written) > 0) facts.push(tr("not the first choice"));
  node.title = facts.join(", ");
  node.setAttribute("aria-label", facts.join(", "));
  return node;
}

/**
 * The alternatives at one position, and a field for another word.
 * @param {HTMLElement} panel
 * @param {Data} data
 * @param {number} position
 * @param {number} number Of the word that is shown; -1: the token is.
 * @param {Actions} actions
 */
function fill(panel, { tokens, words, problem, kept }, position, number, { send, ask, forbid, change }) {
  const start = words[number]?.first ?? position;
  const { begun, options } = { ...tokens[start], ...words[number] };
  const { name } = options.find(({ written }) => written) ?? tokens[start];
  const head = element("div", "head");
  const [at, count] = number < 0 ? [position, tokens.length] : [number, words.length];
  const numbers = { number: at + 1, count };
  const title = number < 0 ? tr("Token {number} of {count}", numbers) : tr("Word {number} of {count}", numbers);
  head.append(element("b", "", title), element("span", "", tr("Pick another word here; the rest is translated again")));
  if (words.length) {
    const other = Object.assign(button("why"), {
      textContent: number < 0 ? tr("Words") : tr("Pieces"),
      onclick: change,
    });
    other.dataset.role = "pieces";
    head.append(control(other));
  }
  const list = group("options", tr("In place of {name}", { name }));
  list.append(...options.map((option, index) => optionButton(option, index === 0, () => send(option.choice))));
  const questions = control(group("questions", tr("Why {name} and not another word?", { name })));
  const first = options.findIndex(({ forbidden }) => !forbidden);
  questions.append(
    ...options.map((option, index) => {
      if (option.forbidden) return element("span", "forbidden", tr("forbidden"));
      const { at, name, written } = option;
      if (!at) return element("span");
      const send = () => (written ? forbid : ask)(at);
      return questionButton(name, written, index === first, send);
    }),
  );
  const rows = element("div", "rows");
  rows.append(list, questions);

  const form = control(element("form", "own"));
  const input = element("input");
  input.placeholder = tr("type a word");
  input.setAttribute("aria-label", tr("Own word in place of {name}", { name }));
  input.dataset.role = "own";
  input.dir = "auto";
  input.autocomplete = "off";
  const go = element("button", "go", tr("Continue from this word"));
  go.dataset.role = "go";
  if (begun) {
    form.append(element("span", "begun", begun));
    input.title = tr("Continues these letters; begin with a space for a new word");
  }
  form.append(input, go);
  form.onsubmit = (event) => {
    event.preventDefault();
    send({ position: start, text: input.value });
  };
  panel.replaceChildren(head, rows, form);
  if (kept) {
    const [count, mass] = kept[position];
    const note = trCount(
      "Samples draw from {count} token here, with {mass} of the probability; hatched bars are left out.",
      "Samples draw from {count} tokens here, with {mass} of the probability; hatched bars are left out.",
      count,
      { count: decimal(count, 0), mass: decimal(mass, 2) },
    );
    rows.after(element("div", "note", note));
  }
  if (problem?.position === start) {
    input.value = problem.text;
    input.setAttribute("aria-invalid", "true");
    const message = element("div", "problem", problem.message);
    message.setAttribute("role", "alert");
    panel.append(message);
  }
}

/** @param {Option} option @param {boolean} first @param {() => void} send */
function optionButton({ spans, name, logProb, probability, written, forbidden, kept, bound }, first, send) {
  const node = button(written ? "option written" : "option", first);
  node.classList.toggle("forbidden", forbidden);
  node.dataset.role = "option";
  const text = element("span", "text");
  text.append(...spelled(spans));
  const track = element("span", "track");
  const bar = element("span", kept ? "bar" : "bar outside");
  bar.style.width = `${100 * probability}%`;
  track.append(bar);
  node.append(element("span", "mark", written ? "\u25cf" : ""), text, track);
  const rounded = { name, probability: (bound ? "\u2265" : "") + decimal(probability, 2) };
  node.append(element("span", "number", rounded.probability), element("span", "number faint", decimal(logProb, 2)));
  const numbers = { name, probability: decimal(probability, 3), logProb: decimal(logProb, 3) };
  node.title = written
    ? tr(
        "{name}: probability {probability}, log-probability {logProb}, the current word: keeps the beginning and searches on",
        numbers,
      )
    : tr("{name}: probability {probability}, log-probability {logProb}", numbers);
  node.setAttribute(
    "aria-label",
    written
      ? tr("{name}, probability {probability}, written", rounded)
      : tr("{name}, probability {probability}", rounded),
  );
  node.onclick = send;
  return node;
}

/**
 * A button that forbids what is written, or asks why an alternative was not; the page Why A rather than B answers.
 * @param {string} name
 * @param {boolean} written
 * @param {boolean} first
 * @param {() => void} send
 */
function questionButton(name, written, first, send) {
  const node = button("why", first);
  if (written) node.dataset.role = "forbid";
  node.textContent = written ? tr("Forbid here") : tr("Why not?");
  node.setAttribute("aria-label", written ? tr("Forbid {name} here", { name }) : tr("Why not {name}?", { name }));
  node.title = written
    ? tr("Forbid {name} here: the beginning is kept, the rest is translated without it", { name })
    : tr("Why not {name}?", { name });
  node.onclick = send;
  return node;
}

/** @param {HTMLElement} panel */
function optionsOf(panel) {
  return /** @type {HTMLElement[]} */ ([...panel.querySelectorAll(".option")]);
}

/** @param {HTMLElement} panel @param {HTMLElement} token Above the options. @param {KeyboardEvent} event */
function moveOptions(panel, token, event) {
  const options = optionsOf(panel);
  const questions = /** @type {HTMLElement[]} */ ([...(panel.querySelector(".questions")?.children ?? [])]);
  const row = questions.findIndex((question) => question === event.target);
  const index = options.findIndex((option) => option === event.target);
  if (row >= 0 || event.key === "ArrowRight") return moveQuestions(questions, options, Math.max(row, index), event);
  /** @type {Record<string, number>} */
  const goals = { ArrowDown: index + 1, ArrowUp: index - 1, Home: 0, End: options.length - 1 };
  const goal = goals[event.key];
  if (index < 0 || goal === undefined) return;
  event.preventDefault();
  (options[goal] ?? (goal < 0 ? token : panel.querySelector("input"))).focus();
}

/**
 * Move between the questions, and from and to the options beside them.
 * @param {HTMLElement[]} questions
 * @param {HTMLElement[]} options
 * @param {number} row
 * @param {KeyboardEvent} event
 */
function moveQuestions(questions, options, row, event) {
  const asked = questions.filter((each) => each.matches(".why"));
  const place = asked.indexOf(questions[row]);
  /** @type {Record<string, HTMLElement | undefined>} */
  const goals = {
    ArrowLeft: options[row],
    ArrowRight: asked[place],
    ArrowDown: asked[place + 1],
    ArrowUp: asked[place - 1],
  };
  const goal = goals[event.key];
  if (row < 0 || !goal) return;
  event.preventDefault();
  goal.focus();
}
