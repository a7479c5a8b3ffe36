// @ts-check
// The steps of one token: a list, and the current step with its formula and its numbers. Every step is here already: the
// arrow keys need no server, which only receives the step where the visitor stops.

/** @import { Component } from "../../components/streamlit" */
/** @import { Block } from "./step_blocks.js" */
/** @import { MathTree } from "./step_formula.js" */

import { action, button, control, element, focusedIn, group } from "../../../core/drawing/dom.js";
import { tr } from "../../../core/drawing/texts.js";
import { component, replaceListener } from "../../components/renderer.js";
import { drawnBlock, numbersTable } from "./step_blocks.js";
import { formulaNode } from "./step_formula.js";

/**
 * @typedef {object} Step See `StepView` in step_views.py.
 * @property {string} name
 * @property {string} group
 * @property {string} title
 * @property {string} section
 * @property {string} figure
 * @property {MathTree[]} formulas
 * @property {string} text
 * @property {[name: string, value: string][]} facts
 * @property {Block[]} blocks
 * @property {Block[]} details
 * @property {number} picked
 * @property {[text: string, formula: MathTree] | null} aside
 *
 * @typedef {object} Data See `walk_payload`.
 * @property {Step[]} steps
 * @property {string} name
 * @property {string} about
 * @property {{ step: string, pick: number | null, request: number }} place
 * @property {string[]} scale
 *
 * @typedef {object} Walk What the browser keeps while the page is drawn again.
 * @property {HTMLElement} node
 * @property {string} step
 * @property {Map<string, number>} picks By step.
 * @property {number} request
 * @property {boolean} asTable
 * @property {number} timer
 */

const PAUSE = 400; // milliseconds on a step until it is sent to the server

/** @type {WeakMap<HTMLElement, Walk>} */
const walks = new WeakMap();

export default component((/** @type {Component<Data>} */ { data, root, setTriggerValue }) => {
  const walk = walks.get(root) ?? begun(root);
  const { step, pick, request } = data.place;
  if (request !== walk.request) {
    Object.assign(walk, { request, step });
    walk.picks.clear();
    if (pick !== null) walk.picks.set(step, pick);
  }
  const index = () => placeOf(walk.step, data.steps);
  const tell = () => {
    clearTimeout(walk.timer);
    walk.timer = window.setTimeout(() => {
      setTriggerValue("place", { step: walk.step, pick: walk.picks.get(walk.step) ?? null });
    }, PAUSE);
  };
  const go = (/** @type {number} */ goal) => {
    if (!data.steps[goal] || goal === index()) return;
    walk.step = data.steps[goal].name;
    show();
    tell();
  };
  const show = () => draw(walk, data, index(), { go, show, tell });
  show();
  return replaceListener(
    root,
    "keydown",
    (event) => {
      const { key, target, altKey, ctrlKey, metaKey, shiftKey } = /** @type {KeyboardEvent} */ (event);
      const inside = event.composedPath().includes(walk.node);
      if (altKey || ctrlKey || metaKey || shiftKey || !(inside || target === document.body)) return;
      /** @type {Record<string, number>} */
      const goals = { ArrowRight: index() + 1, ArrowLeft: index() - 1 };
      if (inside)
        Object.assign(goals, { ArrowDown: index() + 1, ArrowUp: index() - 1, Home: 0, End: data.steps.length - 1 });
      if (goals[key] === undefined || event.defaultPrevented) return;
      event.preventDefault();
      go(goals[key]);
    },
    () => clearTimeout(walk.timer),
  );
});

/**
 * The step of a name, or else the same step of another sub-layer, or else the first, as `step_named` of step_list.py.
 * @param {string} name
 * @param {Step[]} steps
 */
function placeOf(name, steps) {
  const suffix = (/** @type {string} */ text) => text.slice((text + "-").indexOf("-"));
  const same = steps.findIndex((step) => step.name === name);
  const alike = steps.findIndex((step) => suffix(name) && suffix(step.name) === suffix(name));
  return same >= 0 ? same : Math.max(0, alike);
}

/** @param {HTMLElement} root @returns {Walk} */
function begun(root) {
  const node = group("walk", "");
  root.replaceChildren(node);
  const walk = { node, step: "", picks: new Map(), request: -1, asTable: false, timer: 0 };
  walks.set(root, walk);
  return walk;
}

/**
 * @param {Walk} walk
 * @param {Data} data
 * @param {number} index
 * @param {{ go: (goal: number) => void, show: () => void, tell: () => void }} actions
 */
function draw(walk, data, index, { go, show, tell }) {
  const { role } = focusedIn(walk.node)?.dataset ?? {};
  const step = data.steps[index];
  const body = element("div", "body");
  walk.node.setAttribute("aria-label", data.name);
  body.append(stepNode(walk, step, data.scale, () => [show(), tell()]));
  walk.node.replaceChildren(tools(walk, data, index, { go, show }), list(data.steps, index, go), body);
  const item = walk.node.querySelector("[data-role=item]");
  const line = item?.closest(".list");
  if (line && item instanceof HTMLElement) line.scrollLeft = item.offsetLeft - line.clientWidth / 2;
  const again = role ? walk.node.querySelector(`[data-role=${role}][tabindex="0"]`) : null;
  if (again instanceof HTMLElement) again.focus({ preventScroll: true });
}

/**
 * @param {Walk} walk
 * @param {Data} data
 * @param {number} index
 * @param {{ go: (goal: number) => void, show: () => void }} actions
 */
function tools(walk, { steps, about }, index, { go, show }) {
  const node = control(element("div", "tools"));
  const back = action("\u2190", tr("Previous step (left arrow key)"), () => go(index - 1), "back");
  const next = action("\u2192", tr("Next step (right arrow key)"), () => go(index + 1), "next");
  back.disabled = index === 0;
  next.disabled = index === steps.length - 1;
  const turn = () => {
    walk.asTable = !walk.asTable;
    show();
  };
  const table = action(tr("Numbers"), tr("The numbers of this step as a table"), turn, "table");
  table.setAttribute("aria-pressed", String(walk.asTable));
  const enlarge = () => void (document.fullscreenElement ? document.exitFullscreen() : walk.node.requestFullscreen());
  const full = action(tr("Full screen"), tr("Large type, for a lecture; Escape ends it"), enlarge, "full");
  node.append(
    back,
    next,
    element("span", "count", tr("{number} of {count}", { number: index + 1, count: steps.length })),
    element("span", "about", about),
    table,
    full,
  );
  return node;
}

/**
 * The groups, and the steps of the current one.
 * @param {Step[]} steps
 * @param {number} index
 * @param {(goal: number) => void} go
 */
function list(steps, index, go) {
  const node = control(element("ol", "list"));
  steps.forEach((step, at) => {
    const current = step.group === steps[index].group;
    const first = steps.findIndex(({ group }) => group === step.group) === at;
    if (first) node.append(entry("group", step.group, current, () => current || go(at)));
    if (current) node.append(entry("step", step.title, at === index, () => go(at)));
  });
  return node;
}

/** @param {string} style @param {string} text @param {boolean} current @param {() => void} onClick */
function entry(style, text, current, onClick) {
  const item = element("li", style);
  const node = button("", current && style === "step");
  node.textContent = text;
  if (current) node.setAttribute("aria-current", style === "step" ? "step" : "true");
  if (current && style === "step") node.dataset.role = "item";
  node.onclick = onClick;
  item.append(node);
  return item;
}

/** @param {Walk} walk @param {Step} step @param {string[]} scale @param {() => void} picked */
function stepNode(walk, step, scale, picked) {
  const node = element("section", "step");
  const heading = element("h3", "", step.title);
  const section = tr("Section {number}", { number: step.section });
  heading.append(element("span", "section", step.figure ? `${section} \u00b7 ${step.figure}` : section));
  const words = element("div", "words");
  words.setAttribute("role", "status");
  words.append(heading, element("p", "", step.text));
  node.append(words, ...step.formulas.map(formulaNode));
  if (step.facts.length) node.append(facts(step.facts));
  const pick = Math.min(walk.picks.get(step.name) ?? step.picked, step.details.length - 1);
  const choose = (/** @type {number} */ row) => {
    walk.picks.set(step.name, row);
    picked();
  };
  const choice = step.details.length ? { index: pick, pick: choose } : null;
  const detail = choice ? [step.details[pick]] : [];
  const shown = walk.asTable ? [...step.blocks, ...detail].map(numbersTable) : [];
  const drawings = step.blocks.map((block, at) =>
    drawnBlock(block, scale, at === step.blocks.length - 1 ? choice : null),
  );
  const details = detail.map((block) => drawnBlock(block, scale, null));
  for (const each of details) each.classList.add("detail");
  node.append(...(walk.asTable ? shown : [...details, ...drawings]));
  if (step.aside) node.append(element("p", "", step.aside[0]), formulaNode(step.aside[1]));
  return node;
}

/** @param {Step["facts"]} facts */
function facts(facts) {
  const node = element("dl", "facts");
  for (const [name, value] of facts) {
    const pair = element("div");
    pair.append(element("dt", "", name), element("dd", "", value));
    node.append(pair);
  }
  return node;
}
