// @ts-check
// A beam search, a row for each position. Rows after the selected step are hidden.

/** @import { Span } from "../../../../core/drawing/types" */
/** @import { Component } from "../../../components/streamlit" */

import { button, control, element, goTo, group, restoreFocus, spelled, vector } from "../../../../core/drawing/dom.js";
import { dotsNote, SMALL_WEIGHT, weightLine } from "../../../../core/drawing/line_style.js";
import { scrolling } from "../../../../core/drawing/scrolling.js";
import { decimal } from "../../../../core/drawing/numbers.js";
import { tr } from "../../../../core/drawing/texts.js";
import { keep, restored } from "../../../components/address.js";
import { component } from "../../../components/renderer.js";

const MARKS = { live: "\u25cf", finished: "\u25a0", pruned: "\u00d7", dropped: "\u25cb" };
const names = () => ({
  live: tr("live"),
  finished: tr("finished"),
  pruned: tr("pruned at once"),
  dropped: tr("continued, then dropped"),
});
const STEP = "beam_step"; // the step in the address, unless it is the last
const hint = () =>
  tr("Hover over a candidate to read it. Click it to see the best translation that begins with it on all pages.");

/**
 * @typedef {keyof typeof MARKS} Fate
 *
 * @typedef {object} Candidate
 * @property {Span[]} spans
 * @property {Span[]} run The same within a running text.
 * @property {string} name For screen readers.
 * @property {boolean} glued Whether no space is before it.
 * @property {number | null} parent Rank at the position before.
 * @property {number} tokenLogProb
 * @property {number} score
 * @property {Exclude<Fate, "dropped">} fate
 * @property {number} until Last position at which it is live.
 * @property {boolean} best Whether it is on the way to the best hypothesis.
 * @property {boolean} forced
 * @property {number} reason
 *
 * @typedef {object} Data See `tree_payload`.
 * @property {Candidate[][]} steps
 * @property {Span[]} start
 * @property {string[]} reasons
 * @property {string} stop
 * @property {string} direction
 * @property {number} columns
 * @property {[position: number, rank: number] | null} selected
 * @property {[position: number, rank: number] | null} end Of the hypothesis that is shown for the selected candidate.
 *
 * @typedef {Candidate & { position: number, rank: number, line: SVGPathElement, button: HTMLButtonElement, mark: HTMLElement }} TreeNode
 *
 * @typedef {object} State
 * @property {HTMLElement} root
 * @property {Data} data
 * @property {number} last Position.
 * @property {number} step Up to which the search is shown.
 * @property {HTMLElement[][]} rows Elements of each position.
 * @property {TreeNode[][]} nodes
 * @property {HTMLInputElement} slider
 * @property {HTMLElement} output Beside the slider.
 * @property {HTMLElement} stop
 * @property {HTMLElement} description Of the candidate that is pointed at.
 * @property {(position: number, rank: number) => void} send
 */

/**
 * Step that the visitor has selected; null: the last one, however many there are.
 * @type {WeakMap<HTMLElement, number | null>}
 */
const selectedSteps = new WeakMap();

export default component((/** @type {Component<Data>} */ { data, root, focused, setTriggerValue }) => {
  const { scrollTop = 0, scrollLeft = 0 } = root.querySelector(".box") ?? {};
  const last = data.steps.length;
  const known = selectedSteps.has(root) ? selectedSteps.get(root) : restored(STEP, 1, last);
  /** @type {State} */
  const state = {
    root,
    data,
    last,
    step: Math.min(known ?? last, last),
    rows: [],
    nodes: [],
    slider: element("input"),
    output: element("output"),
    stop: element("div", "stop", data.stop),
    description: element("div", "description"),
    send: (position, rank) => setTriggerValue("node", { position, rank }),
  };
  const box = element("div", "box");
  box.append(tree(state));
  scrolling(box);
  state.description.setAttribute("role", "status");
  root.replaceChildren(controls(state), state.description, box);
  show(state, state.step);
  describe(state, data.selected && state.nodes[data.selected[0] - 1][data.selected[1]]);
  Object.assign(box, { scrollTop, scrollLeft });
  const buttons = state.nodes.flat().map((node) => node.button);
  restoreFocus(buttons, focused); // Tab reaches the tree, arrow keys its nodes
  if (focused?.step) state.slider.focus({ preventScroll: true });
});

/** @param {State} state */
function controls(state) {
  const { slider, output, last, step } = state;
  const line = element("div", "controls");
  const label = control(element("label", "stepper", tr("Step")));
  Object.assign(slider, {
    type: "range",
    min: 1,
    max: last,
    step: 1,
    value: step,
    title: tr("Arrow keys move step by step"),
  });
  slider.dataset.step = "slider";
  slider.oninput = () => show(state, Number(slider.value));
  label.append(slider, output);
  const legend = element("div", "legend");
  for (const fate of /** @type {Fate[]} */ (Object.keys(MARKS))) {
    const item = element("span");
    item.append(element("b", "", MARKS[fate]), names()[fate]);
    legend.append(item);
  }
  legend.append(dotsNote(tr("dots: probability below {weight}", { weight: decimal(SMALL_WEIGHT, 2) })));
  line.append(label, legend);
  return line;
}

/** @param {State} state */
function tree(state) {
  const { data, nodes, rows } = state;
  const grid = group("tree", tr("Search tree"));
  grid.style.setProperty("--columns", String(data.columns));
  const start = element("div", "row start");
  const root = element("span", "node start");
  root.append(element("span", "mark"), tokenSpan(data.start), element("span", "score", tr("start")));
  start.append(root);
  grid.append(element("span", "number", "0"), start);
  data.steps.forEach((candidates, index) => {
    const row = element("div", "row");
    const lines = vector("svg", { viewBox: `0 0 ${data.columns} 18`, preserveAspectRatio: "none" });
    row.append(lines);
    nodes.push(candidates.map((candidate, rank) => treeNode(state, lines, row, candidate, index + 1, rank)));
    const number = element("span", "number", String(index + 1));
    rows.push([number, row]);
    grid.append(number, row);
  });
  grid.append(state.stop);
  grid.onmouseleave = () => describe(state, selectedNode(state));
  grid.onkeydown = (event) => move(state, event);
  return grid;
}

/**
 * @param {State} state
 * @param {SVGElement} lines
 * @param {HTMLElement} row
 * @param {Candidate} candidate
 * @param {number} position
 * @param {number} rank
 * @returns {TreeNode}
 */
function treeNode(state, lines, row, candidate, position, rank) {
  const [from, to] = [(candidate.parent ?? 0) + 0.5, rank + 0.5];
  const line = weightLine(`M${from},0 C${from},9 ${to},9 ${to},18`, Math.exp(candidate.tokenLogProb));
  lines.append(line);
  const entry = button("node");
  Object.assign(entry.dataset, { position, rank });
  const mark = element("span", "mark");
  entry.append(mark, tokenSpan(candidate.spans), element("span", "score", decimal(candidate.score, 2)));
  const node = { ...candidate, position, rank, line, button: entry, mark };
  entry.onmouseenter = entry.onfocus = () => describe(state, node);
  entry.onclick = () => state.send(position, rank);
  row.append(entry);
  return node;
}

/** @param {Span[]} spans */
function tokenSpan(spans) {
  const token = element("span", "token");
  token.dir = "auto";
  token.append(...spelled(spans));
  return token;
}

/** Show the search as it was after a step. @param {State} state @param {number} step */
function show(state, step) {
  const { data, last, root } = state;
  state.step = step;
  selectedSteps.set(root, step === last ? null : step);
  keep(STEP, step === last ? null : step);
  state.slider.value = String(step);
  state.output.textContent = tr("{number} of {count}", { number: step, count: last });
  state.rows.forEach((parts, index) => parts.forEach((part) => (part.hidden = index >= step)));
  state.stop.hidden = step < last;
  for (const node of state.nodes.slice(0, step).flat()) {
    const fate = fateAt(node, step);
    const best = node.best && step === last;
    const alive = fate === "live" || fate === "finished";
    const on = data.selected?.[0] === node.position && data.selected[1] === node.rank;
    const styles = ["node", fate, !alive && "dead", best && "best", on && "on", node.forced && "forced"];
    node.mark.textContent = MARKS[fate];
    node.button.className = styles.filter(Boolean).join(" ");
    node.line.setAttribute("class", best ? "best" : alive ? "alive" : "");
    node.button.setAttribute("aria-pressed", String(on));
    const name = tr("{token}, position {position}, rank {rank}, {fate}", {
      token: node.name,
      position: node.position,
      rank: node.rank + 1,
      fate: names()[fate],
    });
    node.button.setAttribute("aria-label", name);
  }
  describe(state, selectedNode(state));
}

/** @param {Candidate} candidate @param {number} step @returns {Fate} */
function fateAt({ fate, until }, step) {
  return fate === "live" && until < step ? "dropped" : fate;
}

/** @param {State} state */
function selectedNode({ data: { selected }, nodes, step }) {
  return selected && selected[0] <= step ? nodes[selected[0] - 1][selected[1]] : null;
}

/** The candidates from the start to a node. @param {TreeNode[][]} nodes @param {TreeNode} node */
function pathTo(nodes, node) {
  const path = [node];
  while (path[0].parent !== null) path.unshift(nodes[path[0].position - 2][path[0].parent]);
  return path;
}

/**
 * Describe a node, and mark its way from the start; that of the selected node goes on to the end of the hypothesis shown.
 * @param {State} state
 * @param {TreeNode | null} node
 */
function describe(state, node) {
  const { data, nodes, description, last, step } = state;
  for (const each of nodes.flat()) {
    each.button.classList.remove("way");
    each.line.classList.remove("way");
  }
  if (!node) return description.replaceChildren(hint());
  const isSelected = node === selectedNode(state) && data.end;
  const path = pathTo(nodes, isSelected ? nodes[isSelected[0] - 1][isSelected[1]] : node);
  for (const each of path) {
    each.button.classList.add("way");
    each.line.classList.add("way");
  }
  const text = element("div", "path");
  text.dir = data.direction;
  path.forEach(({ run, spans, glued, position }, index) => {
    if (index && !glued) text.append(" ");
    const shown = index === path.length - 1 && !run.length ? spans : run;
    text.append(...shown.map(([part, style]) => element("span", position > node.position ? "faint" : style, part)));
  });
  const facts = tr("rank {rank} of {count}, score {score}, token log-prob {logProb}", {
    rank: node.rank + 1,
    count: nodes[node.position - 1].length,
    score: decimal(node.score, 2),
    logProb: decimal(node.tokenLogProb, 2),
  });
  const live = step < last && fateAt(node, step) === "live";
  const line = element("div");
  const reason = live ? tr("Live at step {step}.", { step }) : data.reasons[node.reason];
  line.append(element("span", "numbers", `${facts}  `), reason);
  description.replaceChildren(text, line);
}

/** @param {State} state @param {KeyboardEvent} event */
function move({ nodes, step }, event) {
  const from = nodes.flat().find((node) => node.button === event.target);
  if (!from) return;
  const { position, rank, parent } = from;
  /** @type {Record<string, () => TreeNode | undefined>} */
  const goals = {
    ArrowLeft: () => nodes[position - 1][rank - 1],
    ArrowRight: () => nodes[position - 1][rank + 1],
    ArrowUp: () => (parent === null ? undefined : nodes[position - 2]?.[parent]),
    ArrowDown: () => (position < step ? nodes[position].find((child) => child.parent === rank) : undefined),
  };
  if (!(event.key in goals)) return;
  event.preventDefault();
  const goal = goals[event.key]();
  if (goal) goTo(goal.button, [from.button]);
}
