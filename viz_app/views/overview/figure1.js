// @ts-check
// Figure 1 with the choice of a decoding step, which no round trip to the server delays.

/** @import { Figure1Chosen, Figure1Data, Figure1Drawing } from "../../../core/drawing/types" */
/** @import { Component } from "../../components/streamlit" */

import { button, control, element, isolated } from "../../../core/drawing/dom.js";
import { drawFigure1 } from "../../../core/drawing/figure1.js";
import { tr } from "../../../core/drawing/texts.js";
import { keep, openAddress, restored } from "../../components/address.js";
import { listen, select } from "../../components/linked_words.js";
import { component, rootOf } from "../../components/renderer.js";

const STEP = "step"; // of the address, counted from 1
const PART = "part"; // whose lines of code are shown
const STOP = "play"; // of Play

/**
 * @typedef {Figure1Data & {
 *   words: { source: string[], target: string[] },
 *   selected: string[],
 *   first: number,
 * }} Data See `figure1_payload`; the name of each token's word, the selected ones, and the step that is shown first.
 *
 * @typedef {{ about: string, selected: string, chosen: Figure1Chosen | undefined, part?: string }} Last
 */

/** @type {WeakMap<HTMLElement, Last>} */
const drawn = new WeakMap();

export default component((/** @type {Component<Data>} */ { data, parentElement }) => {
  const root = rootOf(parentElement);
  const chosen = firstChosen(root, data);
  if (!root.firstChild) root.append(control(element("div", "controls")), element("div", "picture"));
  const [bar, place] = /** @type {HTMLElement[]} */ ([...root.children]);
  const drawing = drawFigure1(place, data, chosen, {
    onChoose: ({ step }, { source }) => {
      const name = source === undefined ? data.words.target[step] : data.words.source[source];
      if (name && !data.selected.includes(name)) select(name, {});
      else if (source === -1) select("", {});
      show();
    },
    onOpen: () => show(),
    onFollow: openAddress,
    onPlay: () => show(),
    onCode: (name) => {
      const last = drawn.get(root);
      if (last) last.part = name;
      show();
    },
  });
  const show = () => {
    const now = drawing.chosen();
    const last = drawn.get(root);
    if (last) last.chosen = now;
    keep(PART, last?.part || null);
    keep(STOP, now.stop ?? null);
    keep(STEP, now.step === data.first ? null : now.step + 1, aboutOf(data)); // the first is not in the address
    controls.showChosen();
  };
  const controls = newControls(data, drawing, show);
  bar.replaceChildren(drawing.start, ...controls.nodes);
  show();
  const stop = listen(root, (pointed) => {
    const at = pointed?.words.map((word) => data.words.target.indexOf(word)).find((index) => index >= 0);
    drawing.choose({ step: at ?? drawn.get(root)?.chosen?.step ?? 0 });
  });
  return () => [stop(), drawing.disconnect()];
});

/** @param {Data} data */
function aboutOf({ words, predicted, source }) {
  return JSON.stringify([words, predicted, source]);
}

/**
 * What is chosen at first: what was chosen before, unless words were selected since, or another sentence came.
 * @param {HTMLElement} root
 * @param {Data} data
 * @returns {Partial<Figure1Chosen>}
 */
function firstChosen(root, data) {
  const [about, selected] = [aboutOf(data), String(data.selected)];
  const last = drawn.get(root);
  const isSame = last?.about === about;
  const chosen = isSame ? last.chosen : undefined;
  const address = new URLSearchParams(window.location.search);
  const named = last ? last.part : (address.get(PART) ?? undefined);
  const { stop = undefined, plays = false } = last ? (last.chosen ?? {}) : { stop: address.get(STOP) ?? undefined };
  const part = last?.chosen?.part ?? named;
  drawn.set(root, { about, selected, chosen, part: named });
  if (chosen && last?.selected === selected) return chosen;
  const target = data.words.target.findIndex((word) => data.selected.includes(word));
  const source = data.words.source.findIndex((word) => data.selected.includes(word));
  const before = chosen?.step ?? (restored(STEP, 1, data.predicted.length, about) ?? data.first + 1) - 1;
  const isIn = data.selected.includes(data.words.target[before]);
  return { step: target < 0 || isIn ? before : target, source, open: chosen?.open, part, stop, plays };
}

/** @param {Data} data @param {Figure1Drawing} drawing @param {() => void} show Of what is chosen, here and elsewhere. */
function newControls(data, drawing, show) {
  const { encoder, decoder } = data.model;
  const [step, about] = [element("label", "step", tr("Decoding step")), element("output", "about")];
  const slider = Object.assign(element("input"), { type: "range", min: "1", max: String(data.predicted.length) });
  slider.oninput = () => {
    drawing.choose({ step: Number(slider.value) - 1 });
    show();
  };
  step.append(slider);
  const all = Object.assign(button("all", true), { textContent: tr("All sub-layers") });
  const isAll = () => {
    const { open } = drawing.chosen();
    return open.encoder.length === encoder.layers && open.decoder.length === decoder.layers;
  };
  all.onclick = () => {
    const [below, above] = [encoder, decoder].map(({ layers }) => (isAll() ? [] : [...Array(layers).keys()]));
    drawing.open({ encoder: below, decoder: above });
    show();
  };
  const showChosen = () => {
    const { step } = drawing.chosen();
    const words = { fed: data.fed[step].name, predicted: data.predicted[step].name };
    const text = step ? tr("after {fed} comes {predicted}", words) : tr("first comes {predicted}", words);
    slider.value = String(step + 1);
    slider.setAttribute("aria-valuetext", text);
    about.replaceChildren(isolated(text));
    all.setAttribute("aria-pressed", String(isAll()));
  };
  return { nodes: [step, about, element("span", "space"), all], showChosen };
}
