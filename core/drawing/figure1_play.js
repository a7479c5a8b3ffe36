// @ts-check
// Figure 1, played: a stop at each part in the order of its computation, with a sentence and its words below the figure.

/** @import { State } from "./figure1.js" */
/** @import { Item } from "./figure1_parts.js" */
/** @import { Span } from "./types" */

import { action, control, element, filled, focusedIn, group, isolated, spelled } from "./dom.js";
import { addressOf, partOf } from "./figure1_links.js";
import { followed, playStops, told } from "./figure1_story.js";
import { scrollWhileDrawn, scrolling } from "./scrolling.js";
import { mixed, readable, stopsOf } from "./shades.js";
import { tr } from "./texts.js";

const PACE = { least: 3000, letter: 45 }; // milliseconds that a stop is shown, and for each letter of its sentence
const SPEEDS = [1, 2, 0.5];
const AROUND = 3; // pixels from the lit parts to the line around them
const FIELDS = "input, textarea, select, [contenteditable], [role=dialog], [role=listbox]"; // keys are theirs
const PRESSED = "button, a, summary, [role=button]"; // by the space bar
const WITH_HEADS = ["attention", "mask", "cross"];
const ALL = ["stack", "kind", "layer", "head"]; // values of a part

const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches; // then Play is only stepped
let speed = SPEEDS[0];

/**
 * @param {State} state
 * @param {HTMLElement} container Of the figure.
 * @param {() => void} redraw Draws the figure at `state.stop`.
 */
export function player(state, container, redraw) {
  const { data, events } = state;
  const stops = playStops(data);
  if (!stops.some(({ name }) => name === state.stop)) state.stop = undefined; // it was of an address
  const at = () => stops.findIndex(({ name }) => name === state.stop);
  /** @param {string | undefined} stop @param {boolean} plays */
  const go = (stop, plays) => {
    Object.assign(state, { stop, plays: plays && !isStill() });
    redraw();
    events.onPlay?.(stop);
  };
  const step = (/** @type {number} */ by) =>
    go((stops[at() + by] ?? stops[at()]).name, state.plays && at() + by < stops.length);
  const toggle = () => {
    const isOver = at() === stops.length - 1;
    if (!state.stop || (isOver && !state.plays)) go(stops[0].name, true);
    else if (isStill()) step(1);
    else go(state.stop, !state.plays);
  };
  const leave = () => {
    if (focusedIn(node)) start.focus({ preventScroll: true });
    go(undefined, false);
  };
  const most = Math.max(data.maps.cross.rows, data.maps.cross.columns); // of a sentence that is too long
  const refusal = stops.length ? "" : tr("Play works up to {most} tokens on each side", { most });
  const [start, play] = [action("", refusal, toggle), action("", "", toggle)];
  start.disabled = Boolean(refusal);
  const back = action("\u2190", tr("Previous step (left arrow key)"), () => step(-1));
  const next = action("\u2192", tr("Next step (right arrow key)"), () => step(1));
  const pace = action("", tr("Speed"), () => {
    speed = SPEEDS[(SPEEDS.indexOf(speed) + 1) % SPEEDS.length];
    redraw();
  });
  const [link, question] = [element("a", "", tr("Step by step")), element("a")]; // the last stop leads on
  const [node, tools, count] = [control(group("play", tr("Play"))), element("div", "tools"), element("span", "count")];
  const [sentence, row] = [element("p", "sentence"), element("div", "row")];
  sentence.setAttribute("aria-live", "polite");
  scrolling(row);
  tools.append(play, back, next, count, pace, link, question, action("\u2715", tr("Close"), leave));
  node.append(tools, sentence, row);

  let [timer, shown, said] = [0, "", ""];
  const show = () => {
    clearTimeout(timer);
    const stop = stops[at()];
    node.hidden = !stop;
    play.textContent = state.plays ? "\u275a\u275a" : "\u25b6\ufe0e";
    play.title = state.plays ? tr("Pause") : tr("Play");
    play.setAttribute("aria-label", play.title);
    const name = refusal ? tr("up to {most} tokens", { most }) : play.title;
    start.textContent = `${play.textContent} ${name}`;
    state.root.firstElementChild?.classList.toggle("playing", Boolean(stop));
    const isNew = state.width > 0 && shown !== stop?.name; // not while the figure is hidden
    if (isNew) shown = stop?.name ?? "";
    if (!stop) return;
    const { text, words, values, row: about } = told(data, stop, state.step, state.source);
    const part = light(state, stop, values);
    if (isNew) state.part = part;
    pace.textContent = `${speed === 0.5 ? "\u00bd" : speed}\u00d7`;
    count.textContent = tr("{number} of {count}", { number: at() + 1, count: stops.length });
    [back.disabled, next.disabled] = [!at(), at() === stops.length - 1];
    const now = JSON.stringify([text, words]);
    const nodes = words.map(([name, word]) => [name, isolated(word)]);
    if (now !== said) sentence.replaceChildren(...filled(text, Object.fromEntries(nodes))); // it is read aloud
    said = now;
    showRow(row, about, stopsOf(data.scale));
    const source = followed(data, state.step, state.source);
    const address = addressOf(data, { link: "step", name: "", values }, state.step, source);
    link.setAttribute("href", address);
    link.hidden = !address;
    question.hidden = !next.disabled || !data.links?.other;
    const word = tr("\u201c{text}\u201d", { text: data.predicted[state.step].name });
    question.textContent = tr("Why {word}?", { word });
    question.setAttribute("href", addressOf(data, { link: "other", name: "", values }, state.step, source));
    if (isNew) reveal(state, node);
    if (state.plays) timer = window.setTimeout(() => step(1), (PACE.least + PACE.letter * text.length) / speed);
  };
  /** @type {Record<string, () => void>} */
  const keys = { " ": toggle, ArrowLeft: () => step(-1), ArrowRight: () => step(1), Escape: leave };
  const onKey = (/** @type {KeyboardEvent} */ event) => {
    if (!state.stop || !keys[event.key] || !isMeant(event, [container, start])) return;
    event.preventDefault();
    keys[event.key]();
  };
  document.addEventListener("keydown", onKey);
  if (state.stop) scrollWhileDrawn(() => state.stop && reveal(state, node));
  const disconnect = () => {
    clearTimeout(timer);
    document.removeEventListener("keydown", onKey);
  };
  return { node, start, show, disconnect };
}

/**
 * Whether a key is meant for places: pressed in them, or in nothing, and not for a field or a button.
 * @param {KeyboardEvent} event
 * @param {readonly HTMLElement[]} places
 */
function isMeant(event, places) {
  const path = event.composedPath().filter((each) => each instanceof Element);
  const isIn = (/** @type {string} */ selector) => path.some((each) => each.matches(selector));
  const { host = places[0] } = /** @type {ShadowRoot} */ (places[0].getRootNode());
  const isHere = places.some((each) => path.includes(each)) || path[0]?.contains(host);
  const isChord = event.altKey || event.ctrlKey || event.metaKey || event.shiftKey;
  return isHere && !isChord && !event.defaultPrevented && !isIn(event.key === " " ? `${FIELDS}, ${PRESSED}` : FIELDS);
}

/**
 * Light the parts of a stop, draw a line around them, and dim the others.
 * @param {State} state
 * @param {ReturnType<typeof playStops>[number]} stop
 * @param {Record<string, unknown>} values Of its first part.
 */
function light({ root, drawn, data, step }, { parts, stack, kind, shown }, values) {
  const [first] = parts;
  const shared = kind === shown || kind === "feed_forward" ? ALL : ALL.slice(0, 1);
  /** @param {Item} item @param {readonly string[]} names */
  const has = ({ part }, names) => names.every((name) => [undefined, values[name]].includes(part?.values?.[name]));
  const isOf = (/** @type {Item} */ item) => {
    const { type, look = "", side, index, part } = item;
    const link = partOf(data, item, step)?.link ?? "";
    if (type === "word" && side === "source") return first === "embedding";
    if (type === "word") return first === "predicted" && index === step + Number(side === "fed");
    if (look === "memory") return first === "memory" || first === "cross";
    if (type === "option") return parts.includes("other") || parts.includes(link);
    const layered = item.stack ?? (part?.values?.layer && part.values.stack);
    if (first.endsWith(".layer")) return layered === stack && !["linear", "softmax"].includes(look);
    if (type === "map" && WITH_HEADS.includes(first)) return has(item, ["kind", "layer"]);
    return parts.includes(link) && has(item, shared);
  };
  const lit = drawn.filter(({ item, node }) => {
    const isLit = Boolean(isOf(item));
    node.classList.toggle("lit", isLit);
    node.classList.toggle("named", item.type === "map" && has(item, ALL));
    return isLit;
  });
  const boxes = lit
    .filter(({ item }) => item.type !== "path" && item.side !== "fed")
    .map(({ node }) => /** @type {SVGGraphicsElement} */ (node).getBBox());
  const across = boxes.flatMap(({ x, width }) => [x - AROUND, x + width + AROUND]);
  const down = boxes.flatMap(({ y, height }) => [y - AROUND, y + height + AROUND]);
  const [x, y] = [Math.min(...across), Math.min(...down)];
  const size = { x, y, width: Math.max(...across) - x, height: Math.max(...down) - y };
  for (const [name, value] of Object.entries(size))
    root.querySelectorAll(".spot").forEach((each) => each.setAttribute(name, String(value)));
  return lit.find(({ item }) => item.part?.link === first)?.key ?? first;
}

/**
 * The words of a stop: in the elements that are there, if they are the same, so that colours change smoothly.
 * @param {HTMLElement} place
 * @param {ReturnType<typeof told>["row"]} words
 * @param {number[][]} colors
 */
function showRow(place, words, colors) {
  const names = JSON.stringify(words.map(({ spans }) => spans));
  if (place.dataset.names !== names) place.replaceChildren(...words.map(chip));
  place.dataset.names = names;
  words.forEach(({ note, weight, hidden, asks }, index) => {
    const node = /** @type {HTMLElement} */ (place.children[index]);
    node.classList.toggle("hidden", hidden);
    node.classList.toggle("asks", asks);
    const [color, ink] = weight ? readable(mixed(colors, weight)) : ["", ""];
    Object.assign(node.style, { background: color, color: ink });
    /** @type {HTMLElement} */ (node.lastChild).textContent = note;
    if (asks || weight > 0.5) place.scrollLeft = node.offsetLeft - place.clientWidth / 2;
  });
}

/** @param {{ spans: Span[] }} word */
function chip({ spans }) {
  const [node, text] = [element("span", "chip"), element("span")];
  text.append(...spelled(spans));
  node.append(text, element("small"));
  return node;
}

/** Scroll to the lit parts, which what is below the figure may cover. @param {State} state @param {HTMLElement} node */
function reveal({ root }, node) {
  const place = /** @type {SVGElement} */ (root.querySelector(".place"));
  place.style.scrollMargin = `60px 0 ${(node.parentElement?.offsetHeight ?? 0) + 8}px`;
  place.scrollIntoView({ block: "nearest", behavior: isStill() ? "auto" : "smooth" });
}
