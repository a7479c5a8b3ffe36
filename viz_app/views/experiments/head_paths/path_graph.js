// @ts-check
// The strongest direct paths between heads. The encoder is on the left of the decoder or, where that would be too small
// to read, below it. Nodes and edges are buttons.

/** @import { Dash } from "../../../../core/drawing/types" */
/** @import { Component } from "../../../components/streamlit" */

import { DASHES, element, focusedIn, goTo, group, vector } from "../../../../core/drawing/dom.js";
import { dotsNote, SMALL_WEIGHT, weightLine } from "../../../../core/drawing/line_style.js";
import { tr } from "../../../../core/drawing/texts.js";
import { component } from "../../../components/renderer.js";

/**
 * @typedef {[x: number, y: number]} Point In pixels.
 *
 * @typedef {object} GraphNode
 * @property {Point} at
 * @property {string} label
 * @property {string} name
 * @property {boolean} used
 * @property {boolean} selected
 *
 * @typedef {object} GraphEdge
 * @property {[Point, Point, Point, Point]} curve
 * @property {number} share Of the largest effect.
 * @property {string} color
 * @property {Dash} dash
 * @property {string} letter
 * @property {Point} letterAt
 * @property {string} name
 * @property {boolean} selected
 *
 * @typedef {object} Graph See figures.py.
 * @property {Point} size
 * @property {number} radius
 * @property {GraphNode[]} nodes
 * @property {GraphEdge[]} edges The weakest first.
 * @property {[name: string, x: number, y: number][]} names
 * @property {[name: string, x: number, y: number][]} titles
 * @property {{ title: string, ends: [color: string, name: string][] }} legend
 *
 * @typedef {[wide: Graph, narrow: Graph]} Data
 *
 * @typedef {(name: string) => void} Send Called with `node 3` or `edge 7`.
 */

/**
 * The element on which the pointer went down. The graph may be drawn again before the pointer goes up, and a click
 * needs one element.
 * @type {WeakMap<HTMLElement, string>}
 */
const pressed = new WeakMap();
/** @type {WeakMap<HTMLElement, ResizeObserver>} */
const observers = new WeakMap();

export default component((/** @type {Component<Data>} */ { data, root, setTriggerValue }) => {
  const [wide, narrow] = data;
  const send = (/** @type {string} */ name) => {
    const [kind, index] = name.split(" ");
    setTriggerValue("place", { [kind]: Number(index) });
  };
  /** @type {Graph | undefined} */
  let drawn;
  const fit = () => {
    const fitting = root.clientWidth < wide.size[0] ? narrow : wide;
    if (fitting !== drawn) drawGraph(root, (drawn = fitting), send);
  };
  fit();
  observers.get(root)?.disconnect();
  const observer = new ResizeObserver(fit);
  observer.observe(root);
  observers.set(root, observer);
});

/** @param {HTMLElement} root @param {Graph} data @param {Send} send */
function drawGraph(root, data, send) {
  const { place } = focusedIn(root)?.dataset ?? {};
  const [width, height] = data.size;
  const picture = vector("svg", { viewBox: `0 0 ${width} ${height}`, style: `max-width: ${width}px` });
  for (const [name, x, y] of data.titles) picture.append(text(name, x, y, "title"));
  for (const [name, x, y] of data.names) picture.append(text(name, x, y + 4, "name"));
  const edges = data.edges.map((edge, index) => edgeNode(edge, `edge ${index}`));
  const nodes = data.nodes.map((node, index) => nodeNode(node, data.radius, `node ${index}`));
  picture.append(...edges, ...nodes);
  const buttons = [...[...edges].reverse(), ...nodes];
  const box = group("graph", tr("Strongest paths"));
  box.append(picture);
  root.onpointerdown = (event) => pressed.set(root, placeOf(event));
  root.onpointerup = (event) => {
    const name = placeOf(event);
    if (name && name === pressed.get(root)) send(name);
  };
  box.onkeydown = (event) => move(event, buttons, send);
  if (buttons[0]) buttons[0].tabIndex = 0; // Tab reaches the graph, arrow keys its edges and nodes
  root.replaceChildren(box, legend(data));
  const focused = buttons.find((each) => each.dataset.place === place);
  if (place && focused) goTo(focused, buttons);
}

/** @param {PointerEvent} event */
function placeOf(event) {
  const target = event.composedPath()[0];
  const found = target instanceof Element ? target.closest("[data-place]") : null;
  return found instanceof SVGElement ? (found.dataset.place ?? "") : "";
}

/** @param {KeyboardEvent} event @param {SVGElement[]} buttons @param {Send} send */
function move(event, buttons, send) {
  const from = event.target;
  if (!(from instanceof SVGElement)) return;
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (event.key === "Enter" || event.key === " ") send(from.dataset.place ?? "");
  else if (!step) return;
  event.preventDefault();
  const goal = step ? buttons[buttons.indexOf(from) + step] : null;
  if (goal) goTo(goal, [from]);
}

/** @param {string} content @param {number} x @param {number} y @param {string} style */
function text(content, x, y, style) {
  const node = vector("text", { x, y, class: style });
  node.textContent = content;
  return node;
}

/** @param {string} style @param {string} name @param {boolean} selected @param {string} place */
function pushButton(style, name, selected, place) {
  const node = vector("g", {
    class: `${style}${selected ? " selected" : ""}`,
    role: "button",
    tabindex: -1,
    "aria-label": name,
    "aria-pressed": String(selected),
    "data-place": place,
  });
  const title = vector("title", {});
  title.textContent = name;
  node.append(title);
  return node;
}

/** @param {GraphEdge} edge @param {string} place */
function edgeNode({ curve, share, color, dash, letter, letterAt, name, selected }, place) {
  const node = pushButton("edge", name, selected, place);
  const [start, ...rest] = curve.map((point) => point.join(","));
  const d = `M${start} C${rest.join(" ")}`;
  const line = weightLine(d, share, color, dash);
  line.classList.add("line");
  node.append(vector("path", { d, class: "reach" }), line);
  if (letter) node.append(text(letter, letterAt[0], letterAt[1] + 4, "letter"));
  return node;
}

/** @param {GraphNode} shown @param {number} radius @param {string} place */
function nodeNode({ at: [x, y], label, name, used, selected }, radius, place) {
  const node = pushButton(`node${used ? " used" : ""}`, name, selected, place);
  const circle = (/** @type {number} */ r, style = "") => vector("circle", { cx: x, cy: y, r, class: style });
  node.append(circle(2.5, "dot"), circle(radius), text(label, x, y + 4, "label"));
  return node;
}

/** @param {Graph} data */
function legend({ edges, legend: { title, ends } }) {
  const line = element("div", "legend");
  for (const [color, name] of ends) {
    const bar = element("i");
    bar.style.background = color;
    const item = element("span");
    item.append(bar, name);
    line.append(item);
  }
  for (const [dash, name] of Object.entries({
    dash: tr("Q queries"),
    dot: tr("K keys"),
    solid: tr("V values, others"),
  })) {
    const sample = vector("svg", { width: 26, height: 6 });
    const stroke = { "stroke-dasharray": DASHES[/** @type {Dash} */ (dash)], "stroke-width": 2 };
    sample.append(vector("line", { x1: 0, y1: 3, x2: 26, y2: 3, ...stroke }));
    const item = element("span");
    item.append(sample, name);
    line.append(item);
  }
  if (edges.some(({ share }) => share < SMALL_WEIGHT)) line.append(dotsNote(tr("dots: below 5% of the largest")));
  line.append(element("span", "", title));
  return line;
}
