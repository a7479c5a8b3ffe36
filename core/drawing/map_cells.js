// @ts-check
// The grid of weights of a map, with what lies on it: what dims the cells that are not selected, frames, edges of parts,
// and parts without weights. Masked cells are hatched: the picture lets the pattern behind it through.

/** @import { Axis, Events, Head, MapData, Part, PerAxis, Place } from "./types" */

import { element } from "./dom.js";
import { tr } from "./texts.js";
import { paintWeights } from "./weights.js";

const FEW_CELLS = 40; // rows and columns up to which gaps separate the cells

/** @type {readonly [Axis, Axis]} */
export const AXES = ["query", "key"];

/**
 * @typedef {object} MapState
 * @property {MapData} data
 * @property {Events} events
 * @property {Head} head
 * @property {PerAxis<number>} size Rows and columns.
 * @property {PerAxis<Part[]>} parts
 * @property {PerAxis<HTMLElement[]>} words
 * @property {HTMLElement[]} predicted Words at the right.
 * @property {HTMLElement[]} shares Weights of the rows on hidden tokens.
 * @property {HTMLElement} cells
 * @property {HTMLCanvasElement} picture
 * @property {PerAxis<HTMLElement>} bands Frames of the row and the column that are pointed at.
 * @property {HTMLElement} tip
 * @property {Place} at What is pointed at.
 */

/**
 * @param {MapState} state
 * @param {Axis} axis
 * @param {number | undefined} index
 * @param {MouseEvent | KeyboardEvent} event
 */
export function selectAt({ data, events, head }, axis, index, event) {
  if (data.cutting) return events.onCut?.({ [axis]: index, head: head.name });
  const link = index === undefined ? undefined : data.links?.[axis][index];
  if (link) events.onSelect?.(link, event);
}

/**
 * The grid of weights, which a pointer and the arrow keys read.
 * @param {MapState} state
 * @param {(state: MapState, at: Place, here: boolean) => void} point
 */
export function cells(state, point) {
  const { data, head, size, cells: box, picture, bands, tip } = state;
  box.classList.toggle("apart", Math.max(size.query, size.key) <= FEW_CELLS);
  box.tabIndex = 0;
  box.dataset.cell = "";
  box.setAttribute("role", "img");
  const about = { head: head.name, rows: size.query, columns: size.key };
  box.setAttribute("aria-label", tr("{head}, {rows} rows and {columns} columns; arrow keys read the cells", about));
  tip.setAttribute("role", "status");
  paintWeights(picture, head.weights, size.key, data.scale, data.low);
  box.append(picture, element("div", "gaps"), ...blanks(state), ...edges(state), ...dimmed(state));
  box.append(...cutMarks(state), bands.query, bands.key, tip);
  box.onpointerdown = box.onpointermove = (event) => {
    const { left, top, width, height } = picture.getBoundingClientRect();
    const at = (/** @type {number} */ length, /** @type {number} */ share) =>
      Math.min(length - 1, Math.max(0, Math.floor(length * share)));
    const query = at(size.query, (event.clientY - top) / height);
    point(state, { query, key: at(size.key, (event.clientX - left) / width) }, true);
  };
  box.onblur = () => point(state, {}, true);
  box.onpointerleave = (event) => event.pointerType === "touch" || point(state, {}, true); // what was tapped stays
  box.onclick = (event) => clickCell(state, event);
  box.onkeydown = (event) => moveCell(state, event, point);
  return box;
}

/**
 * @param {MapState} state
 * @param {KeyboardEvent} event
 * @param {(state: MapState, at: Place, here: boolean) => void} point
 */
function moveCell(state, event, point) {
  const { at, size, events } = state;
  /** @type {Record<string, [number, number]>} */
  const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  const step = steps[event.key];
  if (event.key === "Enter" || event.key === " ") return [event.preventDefault(), clickCell(state, event)];
  if (event.key === "Escape") return at.query === undefined ? events.onSelect?.("", event) : point(state, {}, true);
  if (!step) return;
  event.preventDefault();
  /** From before the first or behind the last cell where none is pointed at. */
  const moved = (/** @type {number | undefined} */ from, /** @type {number} */ by, /** @type {number} */ count) =>
    Math.min(count - 1, Math.max(0, (from ?? (by < 0 ? count : by ? -1 : 0)) + by));
  point(state, { query: moved(at.query, step[0], size.query), key: moved(at.key, step[1], size.key) }, true);
}

/**
 * Select the word of the row that is pointed at, or cut the weight.
 * @param {MapState} state
 * @param {MouseEvent | KeyboardEvent} event
 */
function clickCell(state, event) {
  const { at, data, events, head } = state;
  const isCell = at.query !== undefined && at.key !== undefined;
  if (data.cutting) return isCell ? events.onCut?.({ ...at, head: head.name }) : undefined;
  if (isCell) events.onCell?.({ ...at, head: head.name });
  selectAt(state, "query", at.query, event);
}

/** @param {MapState} state */
function cutMarks({ data, head, size }) {
  return (data.cuts ?? [])
    .filter((cut) => cut.head === head.name)
    .map((cut) => {
      const mark = element("div", "cut");
      for (const axis of AXES)
        laid(mark, axis, ...(cut[axis] ?? /** @type {[number, number]} */ ([0, size[axis]])), size);
      return mark;
    });
}

/** What dims the cells that are neither in a selected row nor in a selected column. @param {MapState} state */
function dimmed({ data, size }) {
  const lit = data.lit ?? { query: [], key: [] };
  if (!lit.query.length && !lit.key.length) return [];
  const others = (/** @type {Axis} */ axis) => runsWithout(lit[axis], size[axis]);
  return others("query").flatMap((rows) =>
    others("key").map((keys) => laid(laid(element("div", "dim"), "query", ...rows, size), "key", ...keys, size)),
  );
}

/**
 * Runs of neighbours that are not among some indices, each from its first up to the one after its last.
 * @param {readonly number[]} indices
 * @param {number} count
 */
export function runsWithout(indices, count) {
  const ends = [...new Set(indices)].sort((a, b) => a - b);
  return [-1, ...ends]
    .map((before, place) => /** @type {[number, number]} */ ([before + 1, ends[place] ?? count]))
    .filter(([start, stop]) => start < stop);
}

/** Lines between neighbouring parts of an axis. @param {MapState} state */
function edges({ parts, size }) {
  return AXES.flatMap((axis) =>
    parts[axis].slice(1).map(({ start }) => laid(element("div", `edge ${axis}`), axis, start, start, size)),
  );
}

/** Pairs of parts without weights, each with the reason. @param {MapState} state */
function blanks({ data, parts, size }) {
  return (data.blanks ?? []).map((blank) => {
    const box = element("div", "blank");
    box.append(element("span", "", blank.reason));
    for (const axis of AXES) laid(box, axis, parts[axis][blank[axis]].start, parts[axis][blank[axis]].stop, size);
    return box;
  });
}

/**
 * Lay an element over rows or columns from `start` up to `stop`.
 * @param {HTMLElement} node
 * @param {Axis} axis
 * @param {number} start
 * @param {number} stop
 * @param {PerAxis<number>} size
 */
export function laid(node, axis, start, stop, size) {
  node.style[axis === "query" ? "top" : "left"] = `${(100 * start) / size[axis]}%`;
  node.style[axis === "query" ? "height" : "width"] = `${(100 * (stop - start)) / size[axis]}%`;
  return node;
}
