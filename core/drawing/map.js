// @ts-check
// Attention as a map: a row for each query, a column for each key. A pointer or the arrow keys read its cells; a word at
// its side reads a whole row or column. Each axis may have parts, such as source and target.

/** @import { MapState } from "./map_cells.js" */
/** @import { Axis, Drawing, Events, MapData, Part, Place, Span } from "./types" */

import { button, element, focusedIn, goTo, group, headNames, restoreFocus, spelled, textOf } from "./dom.js";
import { AXES, cells, laid, selectAt } from "./map_cells.js";
import { readout } from "./map_readout.js";
import { scrolling } from "./scrolling.js";
import { decimal } from "./numbers.js";
import { tr } from "./texts.js";
import { decodedHead, hiddenShares } from "./weights.js";

const PITCHES = { least: 4, most: 30, picture: 620 }; // pixels of a row, and of all rows where they share them
const WORD_PITCH = 12; // pixels that a written word needs; with fewer, every second, third, ... is written
const MANY_COLUMNS = 250; // from here on each has a pixel even where the window has not: the map scrolls

/**
 * Draw one head as a map. Pointing at a cell, a row or a column shows its weights.
 * @param {HTMLElement} container Emptied; the focus of an earlier drawing in it is kept.
 * @param {MapData} data
 * @param {Events} [events]
 * @returns {Drawing}
 */
export function drawMap(container, data, events = {}) {
  const focused = focusedIn(container)?.dataset;
  const state = begin(data, events);
  const root = element("div", data.links ? "map linked" : "map");
  if (data.legend !== false) root.append(headNames(data.heads));
  root.append(frame(state), scaleBar(data));
  container.replaceChildren(root);
  point(state, {}, false);
  for (const axis of AXES) restoreFocus(state.words[axis], focused); // Tab reaches rows, columns and cells, arrow keys go on
  if (focused?.cell !== undefined) state.cells.focus({ preventScroll: true });
  const observer = new ResizeObserver(() => thin(state));
  observer.observe(state.cells);
  return { highlight: (place) => point(state, place, false), disconnect: () => observer.disconnect() };
}

/** @param {MapData} data @param {Events} events @returns {MapState} */
function begin(data, events) {
  const whole = (/** @type {number} */ stop) => [{ name: "", start: 0, stop, before: "", after: "" }];
  return {
    data,
    events,
    head: decodedHead(data.heads[0]),
    size: { query: data.query.length, key: data.key.length },
    parts: data.parts ?? { query: whole(data.query.length), key: whole(data.key.length) },
    words: { query: [], key: [] },
    predicted: [],
    shares: [],
    cells: element("div", "cells"),
    picture: element("canvas", "picture"),
    bands: { query: element("div", "band query"), key: element("div", "band key") },
    tip: element("div", "tip"),
    at: {},
  };
}

/** @param {MapState} state */
function frame(state) {
  const { data, size, parts } = state;
  const node = element("div", size.key > MANY_COLUMNS ? "frame wide" : "frame");
  const pitch = Math.min(PITCHES.most, Math.max(PITCHES.least, Math.floor(PITCHES.picture / size.query)));
  node.style.setProperty("--rows", String(size.query));
  node.style.setProperty("--columns", String(size.key));
  node.style.setProperty("--height", `${Math.max(150, size.query * pitch)}px`);
  const fed = data.predicted && !data.parts;
  node.append(titles("above", parts.key, "before"), titles("aside before", parts.query, "before"));
  node.append(
    element("div", "corner", fed ? tr("fed") : ""),
    element("div", "corner after", fed ? tr("predicts") : ""),
  );
  node.append(words(state, "key"), words(state, "query"), cells(state, point), ...shares(state));
  if (data.predicted) {
    // parts of the rows, reached by the pointer alone
    state.predicted = data.predicted.map((spans, row) =>
      react(state, element("div", "word"), "query", row, spans ?? []),
    );
    const right = element("div", "sides right");
    right.setAttribute("aria-hidden", "true"); // the row's button says it too
    right.append(...state.predicted);
    node.append(right, titles("aside after", parts.query, "after"));
  }
  if (node.classList.contains("wide")) scrolling(node);
  return node;
}

/** @param {string} style @param {Part[]} parts @param {"before" | "after"} side */
function titles(style, parts, side) {
  const list = element("div", `titles ${style}`);
  for (const part of parts) {
    const title = element("div", "title", part[side]);
    title.style.flexGrow = String(part.stop - part.start);
    list.append(title);
  }
  return list;
}

/** The weight of each row on hidden tokens, at its end; nothing if there is no such weight. @param {MapState} state */
function shares(state) {
  const { data, head, size } = state;
  const found = Array.from({ length: size.query }, (_, row) => hiddenShares(head, row, size.query));
  if (found.flat().every((share) => share === null)) return [];
  const list = group("sides shares", tr("weight on hidden tokens"));
  const sign = data.low < 0 ? "exceptZero" : "auto";
  state.shares = found.map((shares) => {
    const node = element("div", "word share");
    shares.forEach((share, part) => {
      const text = element("span", "", share === null ? "" : decimal(share, 2, sign));
      const of = shares.length > 1 ? `, ${state.parts.key[part].name}` : "";
      if (share !== null) text.title = `${tr("weight on hidden tokens")}${of}: ${decimal(share, 3, sign)}`;
      node.append(text);
    });
    return node;
  });
  list.append(...state.shares);
  const title = element("div", "corner hidden-tokens", tr("hidden"));
  if (found[0].length > 1) title.append(element("br"), ...state.parts.key.map(({ name }) => element("span", "", name)));
  return [title, list];
}

/** @param {MapState} state @param {Axis} axis */
function words(state, axis) {
  const list = axis === "key" ? group("tops", tr("Columns")) : group("sides left", tr("Rows"));
  state.words[axis] = state.data[axis].map((spans, index) => word(state, axis, index, spans));
  list.append(...state.words[axis]);
  return list;
}

/** @param {MapState} state @param {Axis} axis @param {number} index @param {Span[]} spans */
function word(state, axis, index, spans) {
  const { data, events, size } = state;
  const node = button("word");
  Object.assign(node.dataset, { axis, index });
  node.setAttribute("aria-label", spokenName(state, axis, index));
  if (data.links?.[axis][index]) node.setAttribute("aria-pressed", String(isLit(data, axis, index)));
  react(state, node, axis, index, spans);
  node.onfocus = () => point(state, { [axis]: index }, true);
  node.onblur = () => point(state, {}, true);
  node.onkeydown = (event) => {
    if (event.key === "Escape") return events.onSelect?.("", event);
    /** @type {Record<string, number>} */
    const goals = {
      ArrowDown: index + 1,
      ArrowRight: index + 1,
      ArrowUp: index - 1,
      ArrowLeft: index - 1,
      Home: 0,
      End: size[axis] - 1,
    };
    const next = state.words[axis][goals[event.key]];
    if (!next) return;
    event.preventDefault();
    goTo(next, state.words[axis]);
  };
  return node;
}

/** @param {MapState} state @param {HTMLElement} node @param {Axis} axis @param {number} index @param {Span[]} spans */
function react(state, node, axis, index, spans) {
  const text = element("span", "text");
  text.append(...spelled(spans));
  node.append(text);
  node.onmouseenter = () => point(state, { [axis]: index }, true);
  node.onmouseleave = () => point(state, {}, true);
  node.onclick = (event) => selectAt(state, axis, index, event);
  return node;
}

/**
 * Highlight a row, a column or both.
 * @param {MapState} state
 * @param {Place} at
 * @param {boolean} here Whether it is pointed at in this map, which then shows numbers and calls `onPoint`.
 */
function point(state, at, here) {
  const { data, size, bands, tip } = state;
  state.at = at;
  for (const axis of AXES) {
    const pointed = at[axis];
    bands[axis].hidden = pointed === undefined;
    if (pointed !== undefined) laid(bands[axis], axis, pointed, pointed + 1, size);
    state.words[axis].forEach((node, index) => {
      const on = pointed === undefined ? isLit(data, axis, index) : index === pointed;
      const off = !on && AXES.some((each) => data.lit?.[each].length) && !isLit(data, axis, index);
      for (const each of axis === "query" ? [node, state.predicted[index]] : [node]) {
        each?.classList.toggle("on", on);
        each?.classList.toggle("off", off);
      }
    });
  }
  tip.hidden = !here || (at.query === undefined && at.key === undefined);
  if (!tip.hidden) {
    tip.replaceChildren(...readout(state));
    placeTip(state);
  }
  if (here) state.events.onPoint?.(at);
}

/** Put the tip beside what is pointed at, towards the middle of the map. @param {MapState} state */
function placeTip({ tip, at: { query, key }, size }) {
  const [down, right] = [(query ?? 0) < size.query / 2, (key ?? 0) < size.key / 2];
  const row =
    query === undefined ? "4px" : `calc(${(100 * (down ? query + 1 : size.query - query)) / size.query}% + 6px)`;
  const column = key === undefined ? "4px" : `calc(${(100 * (right ? key + 1 : size.key - key)) / size.key}% + 6px)`;
  Object.assign(tip.style, { top: "", bottom: "", left: "", right: "" });
  Object.assign(tip.style, { [down ? "top" : "bottom"]: row, [right ? "left" : "right"]: column });
}

/** @param {MapData} data @param {Axis} axis @param {number} index */
function isLit({ lit }, axis, index) {
  return lit?.[axis].includes(index) ?? false;
}

/** @param {MapState} state @param {Axis} axis @param {number} index */
function spokenName({ data, parts }, axis, index) {
  const text = textOf(data[axis][index]);
  const predicted = axis === "query" ? data.predicted?.[index] : null;
  if (predicted) return tr("fed {fed}, predicts {predicted}", { fed: text, predicted: textOf(predicted) });
  const name = parts[axis].find(({ stop }) => index < stop)?.name;
  return name ? `${text}, ${name}` : text;
}

/**
 * Write as many words as there is room for; the others appear while they are pointed at. Above the columns they lie
 * where the longest has room.
 * @param {MapState} state
 */
function thin({ cells, words, predicted, shares, size }) {
  const pitch = { query: cells.clientHeight / size.query, key: cells.clientWidth / size.key };
  const texts = /** @type {HTMLElement[]} */ (words.key.map((node) => node.firstElementChild));
  const longest = Math.max(...texts.map(({ offsetWidth, offsetHeight }) => Math.max(offsetWidth, offsetHeight)));
  words.key[0]?.parentElement?.classList.toggle("lying", longest + 4 < pitch.key);
  for (const axis of AXES) {
    const step = Math.ceil(WORD_PITCH / pitch[axis]);
    const lists = axis === "query" ? [words.query, predicted, shares] : [words.key];
    for (const list of lists) list.forEach((node, index) => node.classList.toggle("unwritten", index % step > 0));
  }
}

/** @param {MapData} data */
function scaleBar({ scale, low, most }) {
  const line = element("div", "scale");
  const bar = element("i");
  bar.style.background = `linear-gradient(to right, ${scale.join(", ")})`;
  const end = decimal(most ?? 1, most ? 1 : 0);
  const name = most ? tr("score") : low ? tr("difference") : tr("weight");
  const [first, last] = low ? [`\u2212${end}`, `+${end}`] : ["0", end];
  line.append(element("span", "number", first), bar, element("span", "number", last), name);
  return line;
}
