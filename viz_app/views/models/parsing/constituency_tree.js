// @ts-check
// A constituency tree. Tab reaches it, arrow keys go from node to node.

/** @import { Component } from "../../../components/streamlit" */

import { element, goTo, restoreFocus, vector } from "../../../../core/drawing/dom.js";
import { scrolling } from "../../../../core/drawing/scrolling.js";
import { decimal } from "../../../../core/drawing/numbers.js";
import { tr } from "../../../../core/drawing/texts.js";
import { component } from "../../../components/renderer.js";

const CHARACTER = 8.2; // pixels
const ROW = 44;
const BOX = 24;

/**
 * @typedef {object} TreeNode
 * @property {string} label
 * @property {number} x In characters.
 * @property {number} row
 * @property {number | null} parent
 * @property {[first: number, last: number]} words Counted from 1.
 * @property {number | null} weight Of a word; null for a bracket.
 *
 * @typedef {{ nodes: TreeNode[], columns: number, rows: number, selected: number }} Data See `tree_payload`.
 */

export default component((/** @type {Component<Data>} */ { data, root, focused, setTriggerValue }) => {
  const scrolled = root.querySelector(".box")?.scrollLeft ?? 0;
  const box = element("div", "box");
  const [width, height] = [data.columns * CHARACTER + 8, data.rows * ROW + 14];
  const picture = vector("svg", {
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: "group",
    "aria-label": tr("Tree"),
  });
  for (const node of data.nodes) if (node.parent !== null) picture.append(edge(data.nodes[node.parent], node));
  const groups = data.nodes.map((node, index) =>
    group(node, index, index === data.selected, () => setTriggerValue("node", index)),
  );
  picture.append(...groups);
  picture.onkeydown = (event) => move(event, data.nodes, groups);
  box.append(picture);
  scrolling(box);
  root.replaceChildren(box);
  box.scrollLeft = scrolled;
  restoreFocus(groups, focused);
});

/** @param {TreeNode} node */
const left = (node) => node.x * CHARACTER + 4;
/** @param {TreeNode} node */
const top = (node) => node.row * ROW + 4;

/**
 * A line to the next row and from there straight down, as far as a word may stand below: no two lines cross.
 * @param {TreeNode} parent
 * @param {TreeNode} node
 */
function edge(parent, node) {
  const [x0, y0, x1, y1] = [left(parent), top(parent) + BOX, left(node), top(node)];
  return vector("path", { class: "edge", d: `M${x0},${y0}L${x1},${top(parent) + ROW}V${y1}` });
}

/** @param {TreeNode} node @param {number} index @param {boolean} selected @param {() => void} send */
function group(node, index, selected, send) {
  const isWord = node.weight !== null;
  const style = `node ${isWord ? "word" : "bracket"}${selected ? " on" : ""}`;
  const [first, last] = node.words;
  const { label } = node;
  const ofWords =
    first === last
      ? tr("{label}, word {number}", { label, number: first })
      : tr("{label}, words {first} to {last}", { label, first, last });
  const name = isWord
    ? tr("{word}, attention {weight}", { word: label, weight: node.weight === null ? "" : decimal(node.weight, 3) })
    : ofWords;
  const whole = vector("g", { class: style, role: "button" });
  whole.dataset.node = String(index);
  whole.setAttribute("aria-pressed", String(selected));
  whole.setAttribute("aria-label", name);
  const title = vector("title", {});
  title.textContent = name;
  const width = Math.max(2, node.label.length) * CHARACTER + 6;
  const frame = vector("rect", { x: left(node) - width / 2, y: top(node), width, height: BOX, rx: 4 });
  const text = vector("text", { x: left(node), y: top(node) + BOX / 2 + 0.5 });
  text.textContent = node.label;
  whole.append(title, frame, text);
  if (node.weight !== null) {
    frame.style.setProperty("--share", `${(100 * node.weight).toFixed(1)}%`);
    if (node.weight > 0.5) text.setAttribute("class", "over");
    if (node.weight >= 0.005) {
      const number = vector("text", { class: "number", x: left(node), y: top(node) + BOX + 10 });
      number.textContent = decimal(node.weight, 2);
      whole.append(number);
    }
  }
  whole.onclick = send;
  return whole;
}

/** @param {KeyboardEvent} event @param {TreeNode[]} nodes @param {SVGGElement[]} groups */
function move(event, nodes, groups) {
  const index = groups.findIndex((node) => node === event.target);
  if (index < 0) return;
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    groups[index].dispatchEvent(new MouseEvent("click"));
    return;
  }
  const siblings = [...nodes.keys()].filter((other) => nodes[other].parent === nodes[index].parent);
  const place = siblings.indexOf(index);
  /** @type {Record<string, number | null>} */
  const goals = {
    ArrowUp: nodes[index].parent,
    ArrowDown: nodes.findIndex((node) => node.parent === index),
    ArrowLeft: siblings[place - 1] ?? null,
    ArrowRight: siblings[place + 1] ?? null,
  };
  if (!(event.key in goals)) return;
  event.preventDefault();
  const goal = goals[event.key];
  if (goal !== null && goal >= 0) goTo(groups[goal], groups);
}
