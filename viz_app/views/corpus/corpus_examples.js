// @ts-check
// Examples of a head or a neuron: sentences with marked tokens. Each is a button that leads to another page. Beside an
// example of a head is its map: pointing at a token shows the weights of its row or column, and at a cell its tokens.

/** @import { Place, Span } from "../../../core/drawing/types" */
/** @import { Component } from "../../components/streamlit" */

import { button, element, goTo, group, moveInRows, spelled, textOf } from "../../../core/drawing/dom.js";
import { decimal } from "../../../core/drawing/numbers.js";
import { tr } from "../../../core/drawing/texts.js";
import { decodedWeights, paintWeights } from "../../../core/drawing/weights.js";
import { component } from "../../components/renderer.js";

/**
 * @typedef {{ spans: Span[], glued: boolean, mark: "" | "query" | "key" | "both", at: number }} Token
 * @typedef {{ direction: string, axis: "query" | "key" | "both", tokens: Token[] }} Text
 * @typedef {{ weights: string, rows: number, columns: number }} ExampleMap
 * @typedef {{ texts: Text[], value: string, share: number, note: string, map: ExampleMap | null }} Example
 *
 * @typedef {object} Data See `examples_payload`.
 * @property {string} title What a click does.
 * @property {Example[]} examples
 * @property {readonly string[]} scale Colours of the weights, evenly spaced from 0 to 1.
 */

const MAP = 96; // pixels of the longer side of a map, at most
const SPOKEN = 3; // weights of a token
const PITCH = 9; // of a cell, at most

export default component((/** @type {Component<Data>} */ { data, root, focused, setTriggerValue }) => {
  const list = group("examples", tr("Examples"));
  const lines = data.examples.map(({ texts, value, share, note, map }, number) => {
    const node = button("example", number === 0);
    Object.assign(node.dataset, { row: number, column: 0 });
    node.title = data.title;
    const left = element("span", "value", value);
    const track = element("span", "track");
    const bar = element("span", "bar");
    bar.style.width = `${100 * share}%`;
    track.append(bar);
    left.append(track);
    const right = element("span");
    /** @type {Placed[]} */
    const placed = [];
    right.append(...texts.map((text) => textNode(text, placed)));
    if (note) right.lastElementChild?.append(element("span", "note", note));
    node.append(left, right);
    node.onclick = () => setTriggerValue("opened", number);
    const row = element("div", "row");
    row.append(node);
    if (map) {
      const reading = element("span", "reading");
      reading.setAttribute("role", "status");
      left.append(reading);
      const side = element("div", "side");
      side.append(mapNode(map, data.scale, node, placed, reading));
      row.append(side);
    }
    list.append(row);
    return [node];
  });
  list.onkeydown = (event) => moveInRows(lines, event);
  root.replaceChildren(list);
  const again = lines[Number(focused?.row)];
  if (again) goTo(again[0], lines.flat());
});

/**
 * A token on the page, and its row or column of the map.
 * @typedef {{ node: HTMLElement, axis: "query" | "key" | "both", at: number, text: string }} Placed
 */

/** @param {Text} text @param {Placed[]} placed Takes the tokens. */
function textNode({ tokens, direction, axis }, placed) {
  const line = element("div", "text");
  line.dir = direction || "auto";
  for (const { spans, glued, mark, at } of tokens) {
    if (!glued) line.append(" ");
    const node = element("span", `token ${mark}`.trim());
    node.append(...spelled(spans));
    if (mark) node.title = `${textOf(spans)}: ${marks()[mark]}`;
    line.append(node);
    placed.push({ node, axis, at, text: textOf(spans) });
  }
  return line;
}

/**
 * The map of an example. What is pointed at in it is shown in the text, and the other way round; with the keyboard, the
 * left and right arrow keys step through the tokens of an example.
 * @param {ExampleMap} map
 * @param {readonly string[]} scale
 * @param {HTMLElement} example
 * @param {Placed[]} placed
 * @param {HTMLElement} reading For the weight of a cell.
 */
function mapNode({ weights: encoded, rows, columns }, scale, example, placed, reading) {
  const weights = decodedWeights(encoded);
  const pitch = Math.min(PITCH, MAP / Math.max(rows, columns));
  const box = element("div", "map");
  Object.assign(box.style, { width: `${pitch * columns}px`, height: `${pitch * rows}px` });
  const picture = element("canvas", "picture");
  paintWeights(picture, weights, columns, scale);
  const bands = { query: element("div", "band"), key: element("div", "band") };
  box.append(picture, bands.query, bands.key);
  box.setAttribute("aria-hidden", "true"); // the tokens say it
  const tints = (/** @type {Placed} */ { axis, at }, /** @type {Place} */ { query, key }) =>
    key === undefined && query !== undefined && axis !== "query"
      ? weights[query * columns + at]
      : query === undefined && key !== undefined && axis !== "key"
        ? weights[at * columns + key]
        : NaN;
  const point = (/** @type {Place} */ at) => {
    const { query, key } = at;
    bands.query.hidden = query === undefined;
    bands.key.hidden = key === undefined;
    if (query !== undefined)
      Object.assign(bands.query.style, { inset: `${query * pitch}px 0 auto 0`, height: `${pitch}px` });
    if (key !== undefined) Object.assign(bands.key.style, { inset: `0 auto 0 ${key * pitch}px`, width: `${pitch}px` });
    for (const each of placed) {
      each.node.classList.toggle("from", each.axis !== "key" && each.at === query);
      each.node.classList.toggle("to", each.axis !== "query" && each.at === key);
      const weight = tints(each, at);
      each.node.style.setProperty("--weight", Number.isNaN(weight) ? "0" : `${60 * weight}%`);
    }
    example.classList.toggle("pointed", query !== undefined || key !== undefined);
    const weight = query === undefined || key === undefined ? NaN : weights[query * columns + key];
    reading.textContent = Number.isNaN(weight) ? "" : decimal(weight, 2);
  };
  const placeOf = (/** @type {Placed} */ { axis, at }) => (axis === "key" ? { key: at } : { query: at });
  for (const each of placed) {
    each.node.onpointerenter = () => point(placeOf(each));
    each.node.onpointerleave = () => point({});
  }
  let stepped = -1;
  example.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    stepped = Math.min(placed.length - 1, Math.max(0, stepped + step));
    point(placeOf(placed[stepped]));
    reading.setAttribute("aria-label", spoken(placed, placed[stepped], tints, placeOf(placed[stepped])));
  });
  example.addEventListener("blur", () => ((stepped = -1), point({})));
  box.onpointerdown = box.onpointermove = (event) => {
    const { left, top, width, height } = picture.getBoundingClientRect();
    const at = (/** @type {number} */ length, /** @type {number} */ share) =>
      Math.min(length - 1, Math.max(0, Math.floor(length * share)));
    point({ query: at(rows, (event.clientY - top) / height), key: at(columns, (event.clientX - left) / width) });
  };
  box.onpointerleave = (event) => event.pointerType === "touch" || point({}); // what was tapped stays
  point({});
  return box;
}

/**
 * The largest weights of a token's row or column, for screen readers.
 * @param {Placed[]} placed
 * @param {Placed} token
 * @param {(each: Placed, at: Place) => number} tints
 * @param {Place} at
 */
function spoken(placed, token, tints, at) {
  const found = placed.map((each) => ({ text: each.text, weight: tints(each, at) })).filter(({ weight }) => weight > 0);
  const largest = found.sort((a, b) => b.weight - a.weight).slice(0, SPOKEN);
  return `${token.text}: ${largest.map(({ text, weight }) => `${text} ${decimal(weight, 2)}`).join(", ")}`;
}

const marks = () => ({ query: tr("from here"), key: tr("attended to"), both: tr("attended to from here") });
