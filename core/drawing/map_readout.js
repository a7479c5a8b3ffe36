// @ts-check
// The weights of a map in words: of a cell its weight, of a row or a column its largest.

/** @import { MapState } from "./map_cells.js" */
/** @import { Part, Span } from "./types" */

import { element, filled, spelled } from "./dom.js";
import { decimal } from "./numbers.js";
import { tr } from "./texts.js";
import { hiddenShares } from "./weights.js";

const MOST = 3; // weights of a row or a column, in each part of the other axis

/** @typedef {(Node | string)[]} Content Of one line of text. */

/** What is pointed at, a row, a column or both, as lines of text. @param {MapState} state */
export function readout(state) {
  const { query, key } = state.at;
  const lines =
    query === undefined
      ? ofColumn(state, key ?? 0)
      : key === undefined
        ? ofRow(state, query)
        : ofCell(state, query, key);
  return lines.map((content) => {
    const line = element("div");
    line.append(...content);
    return line;
  });
}

/** @param {MapState} state @param {number} query @param {number} key @returns {Content[]} */
function ofCell(state, query, key) {
  const { data } = state;
  const found = exists(state, query, key);
  const text = !found ? tr("cannot attend to {key}") : data.most ? tr("query; key {key}") : tr("attends to {key}");
  return [
    [rowName(state, query)],
    filled(text, { key: bold(data.key[key]) }),
    [found ? number(state, query, key) : reason(state, query, key)],
  ];
}

/** @param {MapState} state @param {number} query @returns {Content[]} */
function ofRow(state, query) {
  const { data, parts } = state;
  const name = (/** @type {number} */ key) => data.key[key];
  const lines = parts.key.flatMap((part) => largest(state, part, (key) => [query, key], name));
  return [
    filled(data.most ? tr("{query} query, by key") : tr("{query} attends to"), { query: rowName(state, query) }),
    ...(lines.length ? lines : [[tr("nothing")]]),
    ...hidden(state, query),
  ];
}

/**
 * The weight of a row on hidden tokens; nothing if there is none.
 * @param {MapState} state
 * @param {number} query
 * @returns {Content[]}
 */
function hidden({ head, data, size, parts }, query) {
  const shares = hiddenShares(head, query, size.query);
  return shares.flatMap((share, part) => {
    if (share === null) return [];
    const text = decimal(share, 3, data.low < 0 ? "exceptZero" : "auto");
    const of = shares.length > 1 ? `, ${parts.key[part].name}` : "";
    return [[element("span", "number", text), " ", tr("hidden tokens") + of]];
  });
}

/** @param {MapState} state @param {number} key @returns {Content[]} */
function ofColumn(state, key) {
  const { data, parts } = state;
  const name = (/** @type {number} */ query) => data.predicted?.[query] ?? data.query[query];
  const lines = parts.query.flatMap((part) => largest(state, part, (query) => [query, key], name));
  return [
    filled(data.most ? tr("{key} key, by query") : tr("{key} is attended to by"), { key: bold(data.key[key]) }),
    ...(lines.length ? lines : [[tr("nothing")]]),
  ];
}

/**
 * The largest weights of a row or a column within a part of the other axis.
 * @param {MapState} state
 * @param {Part} part
 * @param {(other: number) => [query: number, key: number]} cell
 * @param {(other: number) => Span[]} name
 * @returns {Content[]}
 */
function largest(state, { name: title, start, stop }, cell, name) {
  const size = (/** @type {number} */ other) => Math.abs(weightAt(state, ...cell(other)));
  const others = Array.from({ length: stop - start }, (_, place) => start + place).filter((other) =>
    exists(state, ...cell(other)),
  );
  const lines = others
    .sort((a, b) => size(b) - size(a))
    .slice(0, MOST)
    .map((other) => [number(state, ...cell(other)), " ", bold(name(other))]);
  return lines.length && title ? [[element("span", "faint", title)], ...lines] : lines;
}

/** Why a cell has no weight. @param {MapState} state @param {number} query @param {number} key */
function reason({ data, parts }, query, key) {
  const within = (/** @type {Part} */ { start, stop }, /** @type {number} */ index) => start <= index && index < stop;
  const found = data.blanks?.find(
    (blank) => within(parts.query[blank.query], query) && within(parts.key[blank.key], key),
  );
  return found?.reason ?? tr("masked");
}

/** @param {MapState} state @param {number} query @param {number} key */
function weightAt({ head, size }, query, key) {
  return head.weights[query * size.key + key];
}

/** @param {MapState} state @param {number} query @param {number} key */
function exists(state, query, key) {
  return !Number.isNaN(weightAt(state, query, key));
}

/** @param {MapState} state @param {number} query @param {number} key */
function number(state, query, key) {
  const { low, most } = state.data;
  const weight = weightAt(state, query, key) * (most ?? 1);
  return element("span", "number", decimal(weight, 3, low < 0 ? "exceptZero" : "never"));
}

/** @param {MapState} state @param {number} query */
function rowName({ data }, query) {
  const name = element("span");
  const predicted = data.predicted?.[query];
  const fed = bold(data.query[query]);
  const text = tr("fed {fed} \u25b8 predicts {predicted}");
  name.append(...(predicted ? filled(text, { fed, predicted: bold(predicted) }) : [fed]));
  return name;
}

/** @param {Span[]} spans */
function bold(spans) {
  const name = element("b");
  name.append(...spelled(spans));
  return name;
}
