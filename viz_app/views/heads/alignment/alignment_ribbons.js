// @ts-check
// Ribbons between two columns of words. A click on a word of each side, in either order, links them or removes the link.

/** @import { Span } from "../../../../core/drawing/types" */

import {
  button,
  element,
  group,
  moveInColumns,
  restoreFocus,
  spelled,
  textOf,
  vector,
} from "../../../../core/drawing/dom.js";
import { dotsNote, SMALL_WEIGHT } from "../../../../core/drawing/line_style.js";
import { scrolling } from "../../../../core/drawing/scrolling.js";
import { decimal } from "../../../../core/drawing/numbers.js";
import { tr } from "../../../../core/drawing/texts.js";
import { component } from "../../../components/renderer.js";

const PITCH = 30; // pixels from word to word
const FULL = 24; // pixels of a ribbon of weight 1
const WIDTH = 100; // of the picture in its own units; the browser stretches it

/** @typedef {"source" | "target"} Side */
/** @type {readonly [Side, Side]} */
const SIDES = ["source", "target"];
/** @type {Record<Side, Side>} */
const OTHER = { source: "target", target: "source" };

/**
 * @typedef {object} Data See `ribbon_payload`.
 * @property {{ spans: Span[], covered: number }[]} source
 * @property {{ spans: Span[], share: number | null }[]} target
 * @property {[source: number, target: number, weight: number, link: boolean][]} ribbons
 * @property {[source: number, target: number, sure: boolean, found: boolean][]} gold
 * @property {number} height Pixels; more words scroll.
 */

/**
 * @typedef {{ path: SVGPathElement, source: number, target: number, weight: number }} Ribbon A gold link has weight 0.
 * @typedef {object} State
 * @property {Data} data
 * @property {{ side: Side, index: number } | null} held Word that waits for one of the other side.
 * @property {Record<Side, HTMLElement[]>} words
 * @property {Ribbon[]} ribbons
 * @property {HTMLElement} middle
 * @property {(link: Record<string, number>) => void} send
 */

export default component(
  (/** @type {import("../../../components/streamlit").Component<Data>} */ { data, root, focused, setTriggerValue }) => {
    const scrolled = root.querySelector(".box")?.scrollTop ?? 0;
    const middle = element("div", "middle");
    /** @type {State} */
    const state = {
      data,
      held: null,
      words: { source: [], target: [] },
      ribbons: [],
      middle,
      send: (link) => setTriggerValue("link", link),
    };
    const height = PITCH * Math.max(data.source.length, data.target.length, 1);
    middle.style.height = `${height}px`;
    middle.append(picture(state, height));
    const columns = element("div", "columns");
    columns.append(column(state, "source", tr("source")), middle, column(state, "target", tr("translation")));
    const box = element("div", "box");
    box.style.maxHeight = `${data.height}px`;
    box.append(columns);
    scrolling(box);
    root.replaceChildren(legend(data), box);
    box.scrollTop = scrolled;
    for (const side of SIDES) restoreFocus(state.words[side], focused); // Tab reaches a column, arrow keys its words
  },
);

/** @param {State} state @param {number} height */
function picture({ data: { source, target, ribbons, gold }, ribbons: drawn }, height) {
  const svg = vector("svg", { viewBox: `0 0 ${WIDTH} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" });
  const weights = vector("g", { class: "ribbons" });
  const links = vector("g", { class: "gold" });
  const sums = { source: source.map(({ covered }) => covered), target: target.map(() => 0) };
  for (const [, to, weight] of ribbons) sums.target[to] += weight;
  // Thickness of weight 1 at each word, and where its next ribbon begins.
  const thickness = (/** @type {Side} */ side) => sums[side].map((sum) => FULL / Math.max(1, sum));
  const full = { source: thickness("source"), target: thickness("target") };
  const begin = (/** @type {Side} */ side) =>
    sums[side].map((sum, index) => (index + 0.5) * PITCH - (sum * full[side][index]) / 2);
  const tops = { source: begin("source"), target: begin("target") };
  for (const [from, to, weight, link] of ribbons) {
    const [left, right] = [tops.source[from], tops.target[to]];
    const [thick, thin] = [weight * full.source[from], weight * full.target[to]];
    tops.source[from] += thick;
    tops.target[to] += thin;
    const small = weight < SMALL_WEIGHT;
    const d = small
      ? `M0 ${left + thick / 2}${bend(left + thick / 2, right + thin / 2)}`
      : `M0 ${left}${bend(left, right)}V${right + thin}${bend(right + thin, left + thick, true)}Z`;
    const path = vector("path", { d, class: `${link ? "link" : ""} ${small ? "small" : ""}` });
    drawn.push({ path, source: from, target: to, weight });
    weights.append(path);
  }
  for (const [from, to, sure, found] of gold) {
    const [left, right] = [(from + 0.5) * PITCH, (to + 0.5) * PITCH];
    const path = vector("path", {
      d: `M0 ${left}${bend(left, right)}`,
      class: `${found ? "" : "missed"} ${sure ? "" : "possible"}`,
    });
    drawn.push({ path, source: from, target: to, weight: 0 });
    links.append(path);
  }
  svg.append(weights, links);
  return svg;
}

/** @param {number} from @param {number} to @param {boolean} [back] From right to left. */
function bend(from, to, back = false) {
  const [one, two, end] = back ? [0.6, 0.4, 0] : [0.4, 0.6, 1];
  return `C${WIDTH * one} ${from} ${WIDTH * two} ${to} ${WIDTH * end} ${to}`;
}

/** @param {State} state @param {Side} side @param {string} title */
function column(state, side, title) {
  const list = group(`column ${side}`, side === "source" ? tr("Source words") : tr("Target words"));
  state.words[side] = state.data[side].map(({ spans }, index) => word(state, side, spans, index));
  list.append(element("div", "title", title), ...state.words[side]);
  return list;
}

/** @param {State} state @param {Side} side @param {Span[]} spans @param {number} index */
function word(state, side, spans, index) {
  const { source, target } = state.data;
  const share = side === "target" ? target[index].share : null;
  const node = button("word");
  Object.assign(node.dataset, { side, index });
  node.title = textOf(spans);
  if (side === "source") {
    const received = tr("{weight} attention received in total", { weight: decimal(source[index].covered, 3) });
    node.title += `\n${received}`;
  }
  if (share !== null) {
    const shares = { source: decimal(share, 3), prefix: decimal(1 - share, 3) };
    node.title += `\n${tr("{source} from the source, {prefix} from the prefix", shares)}`;
  }
  node.setAttribute("aria-pressed", "false");
  const text = spelled(spans);
  const number = element("span", "number", String(index));
  node.append(...(side === "source" ? [...text, number] : [number, ...text]));
  if (share !== null) {
    const track = element("div", "share");
    const bar = element("div");
    bar.style.width = `${100 * Math.min(1, share)}%`;
    track.append(bar);
    node.append(track);
  }
  node.onmouseenter = node.onfocus = () => show(state, { side, index });
  node.onmouseleave = node.onblur = () => show(state, null);
  node.onclick = () => press(state, side, index);
  node.onkeydown = (event) => {
    if (event.key === "Escape") hold(state, null);
    else moveInColumns([state.words.source, state.words.target], side === "source" ? 0 : 1, index, event);
  };
  return node;
}

/**
 * The first click holds a word. The next links it with a word of the other side, or holds another of the same side.
 * @param {State} state
 * @param {Side} side
 * @param {number} index
 */
function press(state, side, index) {
  const { held } = state;
  if (held && held.side !== side) {
    hold(state, null);
    state.send({ [side]: index, [held.side]: held.index });
  } else {
    hold(state, held?.index === index ? null : { side, index });
  }
}

/** @param {State} state @param {State["held"]} word */
function hold(state, word) {
  state.held = word;
  for (const side of SIDES) {
    state.words[side].forEach((node, index) => {
      const on = word?.side === side && word.index === index;
      node.classList.toggle("held", on);
      node.setAttribute("aria-pressed", String(on));
    });
  }
}

/** Show the ribbons of one word with their weights, or all. @param {State} state @param {State["held"]} word */
function show({ middle, ribbons, words }, word) {
  middle.querySelectorAll(".value").forEach((value) => value.remove());
  const ends = new Set();
  for (const ribbon of ribbons) {
    const on = !word || ribbon[word.side] === word.index;
    ribbon.path.classList.toggle("hidden", !on);
    if (!word || !on) continue;
    ends.add(ribbon[OTHER[word.side]]);
    if (ribbon.weight >= SMALL_WEIGHT) middle.append(value(ribbon, OTHER[word.side]));
  }
  for (const side of SIDES) {
    const dimmed = word && side !== word.side;
    words[side].forEach((node, index) => node.classList.toggle("off", Boolean(dimmed && !ends.has(index))));
  }
}

/** @param {Ribbon} ribbon @param {Side} side */
function value(ribbon, side) {
  const node = element("span", "value", decimal(ribbon.weight, 2));
  node.style.top = `${ribbon[side] * PITCH}px`;
  node.style[side === "target" ? "right" : "left"] = "2px";
  return node;
}

/** @param {Data} data */
function legend({ gold, ribbons, target }) {
  const row = element("div", "legend");
  row.append(
    entry(vector("rect", { class: "strong", width: 24, height: 8, y: 1 }), tr("link: largest weight of a target word")),
  );
  row.append(entry(vector("rect", { class: "weak", width: 24, height: 8, y: 1 }), tr("other weights")));
  if (ribbons.some(([, , weight]) => weight < SMALL_WEIGHT)) row.append(dotsNote());
  if (target[0]?.share != null)
    row.append(entry(vector("rect", { class: "bar", width: 24, height: 3, y: 4 }), tr("share from the source")));
  if (gold.length) {
    const line = { class: "line", x1: 0, x2: 24, y1: 5, y2: 5 };
    row.append(entry(vector("line", line), tr("gold link, found")));
    row.append(entry(vector("line", { ...line, "stroke-dasharray": "5 4" }), tr("gold link, missed")));
  }
  return row;
}

/** @param {SVGElement} mark @param {string} text */
function entry(mark, text) {
  const span = element("span");
  const svg = vector("svg", { viewBox: "0 0 24 10", "aria-hidden": "true" });
  svg.append(mark);
  span.append(svg, text);
  return span;
}
