// @ts-check
// The weights of a map in words: of a cell its weight, of a row or a column its largest.

/** @import { MapData, Part, PerAxis, Place, Span } from "./types" */

import { element, filled, spelled } from "./dom.js";
import { tr } from "./texts.js";

const MOST = 3; // weights of a row or a column, in each part of the other axis

/** @typedef {(Node | string)[]} Content Of one line of text. */

/**
 * @param {MapData} data
 * @param {PerAxis<Part[]>} parts
 * @param {Place} at A row, a column or both.
 */
export function readout(data, parts, { query, key }) {
  const lines =
    query === undefined
      ? ofColumn(data, parts, key ?? 0)
      : key === undefined
        ? ofRow(data, parts, query)
        : ofCell(data, parts, query, key);
  return lines.map((content) => {
    const line = element("div");
    line.append(...content);
    return line;
  });
}

/**
 * @param {MapData} data
 * @param {PerAxis<Part[]>} parts
 * @param {number} query
 * @param {number} key
 * @returns {Content[]}
 */
function ofCell(data, parts, query, key) {
  const found = exists(data, query, key);
  const text = !found ? tr("cannot attend to {key}") : data.most ? tr("query; key {key}") : tr("attends to {key}");
  return [
    [rowName(data, query)],
    filled(text, { key: bold(data.key[key]) }),
    [found ? number(data, query, key) : reason(data, parts, query, key)],
  ];
}

/**
 * @param {MapData} data
 * @param {PerAxis<Part[]>} parts
 * @param {number} query
 * @returns {Content[]}
 */
function ofRow(data, parts, query) {
  const lines = parts.key.flatMap((part) =>
    largest(
      data,
      part,
      (key) => [query, key],
      (key) => data.key[key],
    ),
  );
  return [
    filled(data.most ? tr("{query} query, by key") : tr("{query} attends to"), { query: rowName(data, query) }),
    ...(lines.length ? lines : [[tr("nothing")]]),
  ];
}

/**
 * @param {MapData} data
 * @param {PerAxis<Part[]>} parts
 * @param {number} key
 * @returns {Content[]}
 */
function ofColumn(data, parts, key) {
  const name = (/** @type {number} */ query) => data.predicted?.[query] ?? data.query[query];
  const lines = parts.query.flatMap((part) => largest(data, part, (query) => [query, key], name));
  return [
    filled(data.most ? tr("{key} key, by query") : tr("{key} is attended to by"), { key: bold(data.key[key]) }),
    ...(lines.length ? lines : [[tr("nothing")]]),
  ];
}

/**
 * The largest weights of a row or a column within a part of the other axis.
 * @param {MapData} data
 * @param {Part} part
 * @param {(other: number) => [query: number, key: number]} cell
 * @param {(other: number) => Span[]} name
 * @returns {Content[]}
 */
function largest(data, { name: title, start, stop }, cell, name) {
  const size = (/** @type {number} */ other) => Math.abs(weightAt(data, ...cell(other)));
  const others = Array.from({ length: stop - start }, (_, place) => start + place).filter((other) =>
    exists(data, ...cell(other)),
  );
  const lines = others
    .sort((a, b) => size(b) - size(a))
    .slice(0, MOST)
    .map((other) => [number(data, ...cell(other)), " ", bold(name(other))]);
  return lines.length && title ? [[element("span", "faint", title)], ...lines] : lines;
}

/**
 * Why a cell has no weight.
 * @param {MapData} data
 * @param {PerAxis<Part[]>} parts
 * @param {number} query
 * @param {number} key
 */
function reason(data, parts, query, key) {
  const within = (/** @type {Part} */ { start, stop }, /** @type {number} */ index) => start <= index && index < stop;
  const found = data.blanks?.find(
    (blank) => within(parts.query[blank.query], query) && within(parts.key[blank.key], key),
  );
  return found?.reason ?? "";
}

/**
 * @param {MapData} data
 * @param {number} query
 * @param {number} key
 */
function weightAt(data, query, key) {
  return data.heads[0].weights[query * data.key.length + key];
}

/**
 * @param {MapData} data
 * @param {number} query
 * @param {number} key
 */
function exists(data, query, key) {
  return !Number.isNaN(weightAt(data, query, key));
}

/**
 * @param {MapData} data
 * @param {number} query
 * @param {number} key
 */
function number(data, query, key) {
  const weight = weightAt(data, query, key) * (data.most ?? 1);
  const digits = Math.abs(weight).toFixed(3);
  const sign = data.low < 0 && Number(digits) ? (weight < 0 ? "\u2212" : "+") : "";
  return element("span", "number", sign + digits);
}

/**
 * @param {MapData} data
 * @param {number} query
 */
function rowName(data, query) {
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
