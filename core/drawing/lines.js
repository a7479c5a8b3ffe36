// @ts-check
// Heads of one layer as lines between two columns of words, as in the paper's appendix: at the left the words that are
// attended to, at the right those that attend.

/** @import { Axis, Drawing, Events, Head, LinesData, PerAxis, Place, Span } from "./types" */

import {
  button,
  element,
  focusedIn,
  group,
  headNames,
  isolated,
  moveInColumns,
  restoreFocus,
  spelled,
  stroke,
  textOf,
  vector,
} from "./dom.js";
import { dotsNote, SMALL_WEIGHT, weightLine } from "./line_style.js";
import { scrolling } from "./scrolling.js";
import { decimal } from "./numbers.js";
import { tr } from "./texts.js";
import { decodedHead, hiddenShare, lineWeights } from "./weights.js";

const PITCH = 24; // pixels from word to word
const WIDTH = 100; // of the picture in its own units; the browser stretches it
const STEPS = 20; // to e times the weight; lines of one head within a step are one path: 120 words stay fast
const SPREAD = 3; // pixels between the lines of different heads that join the same two words
const NEAR = 8; // pixels from a click to the line that it cuts, at most
const MAX_VALUES = 4; // numbers shown beside one word
const MAX_SHARES = 2; // of hidden tokens, beside one row
const MAX_LETTERS = 10; // of a word beside a number
const FED_ARROW = "\u25b8";

/** @type {readonly [Axis, Axis]} */
const AXES = ["query", "key"];

/**
 * One weight of one head; `place` is the head's position among the drawn ones.
 * @typedef {{ head: Head, place: number, query: number, key: number, weight: number }} Line
 */

/**
 * @typedef {object} State
 * @property {LinesData} data
 * @property {Events} events
 * @property {Head[]} heads
 * @property {PerAxis<HTMLElement[]>} words
 * @property {PerAxis<Map<number, Line[]>>} lines By row and by column.
 * @property {HTMLElement} middle Between the columns of words.
 * @property {SVGElement} every All lines.
 * @property {SVGElement} few Lines of the words that are shown alone.
 */

/**
 * Draw heads as lines. Pointing at a word leaves its lines alone, with their weights as numbers.
 * @param {HTMLElement} container Emptied; the focus and the scroll position of an earlier drawing in it are kept.
 * @param {LinesData} data
 * @param {Events} [events]
 * @returns {Drawing}
 */
export function drawLines(container, data, events = {}) {
  const scrolled = container.querySelector(".box")?.scrollTop ?? 0;
  const focused = focusedIn(container)?.dataset;
  /** @type {State} */
  const state = {
    data,
    events,
    heads: data.heads.map(decodedHead),
    words: { query: [], key: [] },
    lines: { query: new Map(), key: new Map() },
    middle: element("div", "middle"),
    every: vector("g", {}),
    few: vector("g", {}),
  };
  const height = PITCH * Math.max(data.query.length, data.key.length);
  const picture = { viewBox: `0 0 ${WIDTH} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" };
  const svg = vector("svg", picture);
  svg.append(state.every, state.few);
  state.middle.append(svg);
  if (data.cutting) {
    state.middle.classList.add("cutting");
    state.middle.onclick = (event) => cutLine(state, event);
  }
  state.middle.style.height = `${height}px`;
  const columns = element("div", data.links ? "columns linked" : "columns");
  columns.append(column(state, "key"), state.middle, column(state, "query"), ...shares(state));
  const box = element("div", "box");
  if (data.height) box.style.maxHeight = `${data.height}px`;
  box.append(columns);
  scrolling(box);
  const root = element("div", "lines");
  state.heads.forEach((head, place) => addLines(state, head, place));
  const names = headNames(data.legend === false ? [] : data.heads);
  if ([...state.lines.query.values()].flat().some(({ weight }) => weight < SMALL_WEIGHT)) names.append(dotsNote());
  root.append(names, box);
  container.replaceChildren(root);
  box.scrollTop = scrolled;
  for (const axis of AXES) restoreFocus(state.words[axis], focused); // Tab reaches a column, arrow keys its words
  show(state, data.selected ?? []);
  return { highlight: ({ query, key }) => show(state, shownWords(data, query, key)), disconnect() {} };
}

/** @param {State} state @param {Axis} axis */
function column(state, axis) {
  const { data } = state;
  const list = group(axis === "key" ? "column keys" : "column", data.titles[axis]);
  state.words[axis] = data[axis].map((spans, index) => {
    return word(state, axis, index, axis === "query" ? rowSpans(spans, data.predicted?.[index]) : spans);
  });
  list.append(element("div", "title", data.titles[axis]), ...state.words[axis]);
  return list;
}

/**
 * The weight of each row on hidden tokens, a column at the right; none if there is no such weight.
 * @param {State} state
 */
function shares({ data, heads }) {
  const rows = data.query.map((_, row) => heads.filter((head) => hiddenShare(head, row) !== null));
  if (!rows.some((found) => found.length)) return [];
  const list = group("shares", tr("weight on hidden tokens"));
  const title = element("div", "title", tr("hidden"));
  title.title = tr("weight on hidden tokens");
  list.append(title);
  rows.forEach((found, row) => {
    const line = element("div", "share");
    for (const head of found.slice(0, MAX_SHARES)) {
      const share = element("span", "", decimal(head.hidden?.[row] ?? 0, 2));
      share.title = `${head.name}: ${decimal(head.hidden?.[row] ?? 0, 3)}`;
      if (heads.length > 1) share.style.borderBottom = `2px solid ${head.color}`;
      line.append(share);
    }
    if (found.length > MAX_SHARES) line.append(element("span", "", `+${found.length - MAX_SHARES}`));
    list.append(line);
  });
  return [list];
}

/**
 * A row of the decoder: the token that was fed, and the one that is predicted.
 * @param {Span[]} fed
 * @param {Span[] | null | undefined} predicted
 * @returns {Span[]}
 */
function rowSpans(fed, predicted) {
  if (!predicted) return fed;
  return [
    ...fed.map(([text, style]) => /** @type {Span} */ ([text, style || "fed"])),
    [` ${FED_ARROW} `, "faint"],
    ...predicted,
  ];
}

/** @param {State} state @param {Axis} axis @param {number} index @param {Span[]} spans */
function word(state, axis, index, spans) {
  const { data, events } = state;
  const node = button("word");
  Object.assign(node.dataset, { axis, index });
  node.title = textOf(spans);
  node.append(...spelled(spans));
  node.onmouseenter = node.onfocus = () => point(state, { [axis]: index });
  node.onmouseleave = node.onblur = () => point(state, {});
  const link = data.links?.[axis][index];
  if (data.cutting) node.onclick = () => events.onCut?.({ [axis]: index });
  else if (link) {
    node.setAttribute("aria-pressed", String(data.lit?.[axis].includes(index) ?? false));
    node.onclick = (event) => events.onSelect?.(link, event);
  }
  node.onkeydown = (event) => {
    if (event.key === "Escape") events.onSelect?.("", event);
    else moveInColumns([state.words.key, state.words.query], axis === "key" ? 0 : 1, index, event);
  };
  return node;
}

/** @param {State} state @param {Head} head @param {number} place */
function addLines({ data, lines, every }, head, place) {
  /** @type {Map<number, string[]>} */
  const paths = new Map();
  for (const weight of lineWeights(head.weights, data.key.length, data.minWeight, data.topMass)) {
    const line = { head, place, ...weight };
    for (const axis of AXES) lines[axis].set(line[axis], [...(lines[axis].get(line[axis]) ?? []), line]);
    const step = line.weight < SMALL_WEIGHT ? -Infinity : Math.round(Math.log(line.weight) * STEPS);
    paths.set(step, [...(paths.get(step) ?? []), curve(line, data.heads.length)]);
  }
  const cuts = (data.cuts ?? []).filter((cut) => cut.head === head.name);
  const isCut = (/** @type {Line} */ line) =>
    cuts.some((cut) => AXES.every((axis) => !cut[axis] || (cut[axis][0] <= line[axis] && line[axis] < cut[axis][1])));
  const crossed = [...lines.query.values()].flat().filter((line) => line.head === head && isCut(line));
  if (crossed.length) {
    const d = crossed.map((line) => curve(line, data.heads.length)).join("");
    every.append(stroke({ d, class: "cut" }, "var(--text)"));
  }
  for (const [step, parts] of [...paths].sort(([one], [other]) => one - other))
    every.append(weightLine(parts.join(""), Math.exp(step / STEPS), head.color, head.dash));
}

/** @param {State} state @param {Place} place */
function point(state, place) {
  show(state, shownWords(state.data, place.query, place.key));
  state.events.onPoint?.(place);
}

/**
 * Words whose lines are shown while one is pointed at: that word, or all selected ones if it is among them.
 * @param {LinesData} data
 * @param {number} [query]
 * @param {number} [key]
 * @returns {[Axis, number][]}
 */
function shownWords({ selected = [] }, query, key) {
  /** @type {[Axis, number] | null} */
  const pointed = query !== undefined ? ["query", query] : key !== undefined ? ["key", key] : null;
  return pointed && !selected.some((each) => String(each) === String(pointed)) ? [pointed] : selected;
}

/**
 * Show the lines of some words with their numbers, or without words all lines.
 * @param {State} state
 * @param {[Axis, number][]} shown
 */
function show(state, shown) {
  const { words, middle, every, few } = state;
  middle.querySelectorAll(".values").forEach((values) => values.remove());
  few.replaceChildren();
  every.style.display = shown.length ? "none" : "";
  for (const entry of [...words.query, ...words.key]) entry.classList.remove("on", "off");
  for (const [axis, index] of shown) words[axis][index]?.classList.add("on");
  const ends = withLines(shown);
  const indices = ends.map(([, index]) => index);
  if (ends.length) showSide(state, ends[0][0], indices);
}

/**
 * Of words at both sides those whose lines are shown: the words that attend; the others are their marked ends.
 * @param {[Axis, number][]} shown
 */
function withLines(shown) {
  const rows = shown.filter(([axis]) => axis === "query");
  return rows.length ? rows : shown;
}

/**
 * Show the lines of words of one column, each with its weight at its other end.
 * @param {State} state
 * @param {Axis} axis
 * @param {number[]} indices
 */
function showSide({ data, heads, words, lines, middle, few }, axis, indices) {
  const other = axis === "query" ? "key" : "query";
  const found = indices.flatMap((index) => lines[axis].get(index) ?? []).sort((a, b) => b.weight - a.weight);
  const count = heads.length;
  /** @type {Map<number, Line[]>} */
  const ends = new Map();
  for (const line of found) {
    few.append(weightLine(curve(line, count), line.weight, line.head.color, line.head.dash));
    ends.set(line[other], [...(ends.get(line[other]) ?? []), line]);
  }
  words[other].forEach((entry, place) =>
    entry.classList.toggle("off", !ends.has(place) && !entry.classList.contains("on")),
  );
  const name = (/** @type {Line} */ line) =>
    indices.length > 1
      ? shortened(textOf((axis === "query" && data.predicted?.[line.query]) || data[axis][line[axis]]))
      : "";
  for (const [place, met] of ends) {
    const list = numbers(met, name, place, other, count);
    list.classList.toggle("on", words[other][place].classList.contains("on"));
    middle.append(list);
  }
}

/** @param {string} text */
function shortened(text) {
  const letters = [...text];
  return letters.length > MAX_LETTERS ? `${letters.slice(0, MAX_LETTERS - 1).join("")}\u2026` : text;
}

/**
 * The weights of the lines that meet at a word.
 * @param {Line[]} met The largest first.
 * @param {(line: Line) => string} nameOf The word at the other end of a line; "": there is only one.
 * @param {number} place
 * @param {Axis} side
 * @param {number} count Of heads drawn: one needs no name beside its numbers.
 */
function numbers(met, nameOf, place, side, count) {
  const list = element("div", "values");
  list.style.top = `${place * PITCH}px`;
  list.style[side === "key" ? "left" : "right"] = "0";
  for (const line of met.slice(0, MAX_VALUES)) {
    const { head, weight } = line;
    const value = element("span", "value");
    if (count > 1) {
      const name = element("b", "", head.short ?? head.name);
      name.style.borderColor = head.color;
      value.append(name);
    }
    const word = nameOf(line);
    if (word) value.append(isolated(word), " ");
    value.append(decimal(weight, 3));
    list.append(value);
  }
  if (met.length > MAX_VALUES) list.append(element("span", "value", `+${met.length - MAX_VALUES}`));
  return list;
}

/** @param {Line} line @param {number} count Of heads drawn. */
function curve({ query, key, place }, count) {
  const shift = (place - (count - 1) / 2) * Math.min(SPREAD, (PITCH - 8) / count);
  const from = (key + 0.5) * PITCH + shift;
  const to = (query + 0.5) * PITCH + shift;
  return `M0 ${from}C${WIDTH * 0.4} ${from} ${WIDTH * 0.6} ${to} ${WIDTH} ${to}`;
}

/** Cut the line nearest to a click, if one is near. @param {State} state @param {MouseEvent} event */
function cutLine({ data, events, lines, middle }, event) {
  const { left, top, width } = middle.getBoundingClientRect();
  const across = (event.clientX - left) / width;
  const shown = data.selected?.length
    ? withLines(data.selected).flatMap(([axis, index]) => lines[axis].get(index) ?? [])
    : [...lines.query.values()].flat();
  const near = shown
    .map((line) => ({ line, distance: Math.abs(heightAt(line, data.heads.length, across) - (event.clientY - top)) }))
    .sort((a, b) => a.distance - b.distance)[0];
  if (!near || near.distance > NEAR) return;
  const { query, key, head } = near.line;
  events.onCut?.({ query, key, head: head.name });
}

/**
 * Height of a line of `curve` at a share of the width.
 * @param {Line} line
 * @param {number} count Of heads drawn.
 * @param {number} across
 */
function heightAt({ query, key, place }, count, across) {
  let [low, high] = [0, 1]; // of the curve's parameter
  for (let round = 0; round < 20; round++) {
    const t = (low + high) / 2;
    if (1.2 * (1 - t) ** 2 * t + 1.8 * (1 - t) * t ** 2 + t ** 3 < across) low = t;
    else high = t;
  }
  const along = 3 * low ** 2 - 2 * low ** 3; // share of the way from the first height to the last
  const shift = (place - (count - 1) / 2) * Math.min(SPREAD, (PITCH - 8) / count);
  return (key + (query - key) * along + 0.5) * PITCH + shift;
}
