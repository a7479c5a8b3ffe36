// @ts-check
// Figure 1 of "Attention Is All You Need" for a model and a sentence: both stacks with the real weights of every head,
// and the probabilities of the next token at a decoding step. Every part can be a link to what explains it.

/** @import { Item } from "./figure1_parts.js" */
/** @import { Figure1Data, Figure1Drawing, Figure1Events, Stack } from "./types" */

import { act, element, focusedIn, isPlainClick, vector } from "./dom.js";
import { codePanel } from "./figure1_code.js";
import { nextStop } from "./figure1_keys.js";
import { addressOf, partOf } from "./figure1_links.js";
import { layoutFigure } from "./figure1_layout.js";
import {
  box,
  circle,
  fold,
  fontOf,
  hatching,
  headPicture,
  label,
  map,
  mark,
  measurer,
  option,
  path,
  word,
} from "./figure1_nodes.js";
import { player } from "./figure1_play.js";
import { followed, shownLayers } from "./figure1_story.js";
import { isDark } from "./shades.js";

const LEAST = 240; // pixels; in a narrower place the drawing sticks out

/**
 * @typedef {object} Drawn
 * @property {Item} item
 * @property {SVGElement} node
 * @property {string} key The same part has the same key in every layout.
 *
 * @typedef {object} State
 * @property {Figure1Data} data
 * @property {Figure1Events} events
 * @property {HTMLElement} root
 * @property {Drawn[]} drawn
 * @property {number} step Decoding step, counted from 0.
 * @property {number} source Chosen token of the source; -1: none.
 * @property {Record<Stack, Set<number>>} open
 * @property {Map<string, string>} pictures Of the heads, by kind, layer and head.
 * @property {string} reached Key of the part that Tab reaches.
 * @property {string} part Key or name of the part whose lines are shown; "": none yet.
 * @property {number} width
 * @property {string | undefined} stop Of Play, by its name; undefined: none is shown.
 * @property {boolean} plays Whether Play goes on by itself.
 * @property {ReturnType<typeof codePanel>} [code]
 * @property {ReturnType<typeof player>} [play]
 */

/**
 * @param {HTMLElement} container Emptied.
 * @param {Figure1Data} data
 * @param {Partial<import("./types").Figure1Chosen>} [chosen]
 * @param {Figure1Events} [events]
 * @returns {Figure1Drawing}
 */
export function drawFigure1(container, data, chosen = {}, events = {}) {
  const shown = shownLayers(data);
  const hadFocus = focusedIn(container)?.getAttribute("data-key") ?? "";
  /** @type {State} */
  const state = {
    data,
    events,
    root: element("div", "figure1"),
    drawn: [],
    step: within(chosen.step ?? 0, data.predicted.length),
    source: chosen.source ?? -1,
    open: {
      encoder: new Set(chosen.open?.encoder ?? [shown.encoder]),
      decoder: new Set(chosen.open?.decoder ?? [shown.decoder]),
    },
    pictures: new Map(),
    reached: hadFocus,
    part: chosen.part ?? "",
    width: 0,
    stop: chosen.stop,
    plays: chosen.plays ?? false,
  };
  state.code = codePanel(state, chosen.part !== undefined, () => show(state));
  state.play = player(state, container, () => (openShown(state) ? draw(state, state.width) : show(state)));
  const sheet = element("div", "sheet");
  sheet.append(state.play.node, state.code.node);
  sheet.onclick = (event) => {
    const address = event.target instanceof HTMLAnchorElement && event.target.getAttribute("href");
    if (!address || !events.onFollow || !isPlainClick(event)) return;
    event.preventDefault();
    events.onFollow(address);
  };
  container.replaceChildren(state.root, sheet);
  openShown(state);
  draw(state, container.clientWidth);
  if (hadFocus) focus(state, hadFocus);
  const font = fontOf(state.root);
  if (!document.fonts.check(font)) document.fonts.load(font).then(() => draw(state, state.width)); // words are wider in another
  const observer = new ResizeObserver(() => {
    if (Math.abs(container.clientWidth - state.width) > 1) draw(state, container.clientWidth);
  });
  observer.observe(container);
  return {
    start: state.play.start,
    choose: (change) => choose(state, change, false),
    open: (layers) => {
      state.open = { encoder: new Set(layers.encoder), decoder: new Set(layers.decoder) };
      draw(state, state.width);
    },
    chosen: () => ({
      step: state.step,
      source: state.source,
      open: { encoder: [...state.open.encoder], decoder: [...state.open.decoder] },
      part: state.code?.node.open ? state.part : undefined,
      stop: state.stop,
      plays: state.plays,
    }),
    disconnect: () => {
      observer.disconnect();
      state.play?.disconnect();
    },
  };
}

/** @param {number} index @param {number} length */
function within(index, length) {
  return Math.max(0, Math.min(length - 1, index));
}

/**
 * @param {State} state
 * @param {{ step?: number, source?: number }} change
 * @param {boolean} here Whether the reader made it in this drawing.
 */
function choose(state, change, here) {
  if (change.step !== undefined) state.step = within(change.step, state.data.predicted.length);
  if (change.source !== undefined) state.source = change.source;
  show(state);
  if (here) state.events.onChoose?.({ step: state.step, source: state.source }, change);
}

/** @param {State} state @param {number} room Width of the container; 0 while it is hidden. */
function draw(state, room) {
  const { data, root, open } = state;
  const width = Math.max(room, LEAST);
  state.width = room;
  const focused = focusedIn(root)?.getAttribute("data-key");
  const layout = layoutFigure(data, width, open, measurer(root));
  const size = { width, height: layout.height, viewBox: `0 0 ${width} ${layout.height}` };
  const svg = vector("svg", { ...size, role: "group" });
  svg.setAttribute("class", isDark(root) ? "dark" : "light");
  state.drawn = layout.items.map((item) => drawn(state, item));
  const spots = ["spot", "spot place"].map((name) => vector("rect", { class: name, rx: 7, "data-control": "" }));
  svg.append(hatching(), ...state.drawn.map(({ node }) => node), ...spots);
  svg.onkeydown = (event) => move(state, /** @type {KeyboardEvent} */ (event));
  root.replaceChildren(svg);
  show(state);
  if (focused) focus(state, focused);
}

/** @param {State} state @param {Item} item @returns {Drawn} */
function drawn(state, item) {
  const { type, part, side, index, stack, layer, kind, head } = item;
  const key = [type, part?.link, part?.name, stack, side, index, layer, kind, head].join(" ");
  let node = figure(state, item);
  if (type === "option" || part) {
    const anchor = vector("a", { class: "part" });
    if (part) anchor.setAttribute("aria-label", part.name);
    if (part) anchor.append(vector("title", {}, part.name));
    anchor.append(node);
    if (addressOf(state.data, part ?? { link: "other", name: "" }, 0, 0))
      anchor.onclick = (event) => follow(state, anchor, key, event);
    else act(anchor, () => state.code?.choose(key));
    node = anchor;
  }
  if (type === "fold") act(node, () => toggle(state, /** @type {Stack} */ (stack), /** @type {number} */ (layer)));
  if (type === "word") act(node, () => pick(state, item));
  node.setAttribute("data-key", key);
  return { item, node, key };
}

/** @param {State} state @param {Item} item @returns {SVGElement} */
function figure(state, item) {
  const { data } = state;
  switch (item.type) {
    case "frame": {
      const { x, y, width = 0, height = 0 } = item;
      return vector("rect", { x, y, width, height, rx: 12, class: "frame" });
    }
    case "box":
      return box(item);
    case "circle":
      return circle(item);
    case "path":
      return path(item);
    case "map":
      return map(item, picture(state, item));
    case "word": {
      const { side = "source", index = 0 } = item;
      const node = word(item, data[side][index].spans, side);
      node.setAttribute("aria-label", data[side][index].name);
      return node;
    }
    case "option":
      return vector("g", {});
    case "fold":
      return fold(item);
    default:
      return label(item.text ?? "", item.x, item.y, item.anchor ?? "start", item.look);
  }
}

/** @param {State} state @param {Item} item */
function picture(state, { kind = "cross", layer = 0, head = 0 }) {
  const name = `${kind} ${layer} ${head}`;
  const known = state.pictures.get(name) ?? headPicture(state.data, kind, layer, head);
  state.pictures.set(name, known);
  return known;
}

/** @param {State} state @param {Stack} stack @param {number} layer */
function toggle(state, stack, layer) {
  const open = state.open[stack];
  if (!open.delete(layer)) open.add(layer);
  draw(state, state.width);
  state.events.onOpen?.({ encoder: [...state.open.encoder], decoder: [...state.open.decoder] });
}

/** Draw the layers large that Play shows; say whether one was not. @param {State} state */
function openShown({ data, open, stop }) {
  const before = open.encoder.size + open.decoder.size;
  const { encoder, decoder } = shownLayers(data);
  if (stop) open.encoder.add(encoder);
  if (stop) open.decoder.add(decoder);
  return open.encoder.size + open.decoder.size > before;
}

/** @param {State} state @param {Item} item */
function pick(state, { side, index = 0 }) {
  if (side !== "source") choose(state, { step: index }, true);
  else choose(state, { source: index === state.source ? -1 : index }, true);
}

/** @param {State} state @param {SVGAElement} anchor @param {string} key @param {MouseEvent} event */
function follow({ code, events }, anchor, key, event) {
  const address = anchor.getAttribute("href");
  const isAsked = code?.node.open || !address; // for its lines
  if (!isPlainClick(event) || (!isAsked && !events.onFollow)) return;
  event.preventDefault();
  if (isAsked) code?.choose(key);
  else events.onFollow?.(address);
}

/**
 * Show the chosen step and source token: in the maps, the words, the probabilities, and the addresses of the links.
 * @param {State} state
 */
function show(state) {
  const { data, step } = state;
  const source = state.stop ? followed(data, step, state.source) : state.source;
  for (const { item, node } of state.drawn) {
    const { type, kind, index = 0, side } = item;
    if (type === "map") {
      const isEncoder = kind === "encoder_self";
      const key = kind === "decoder_self" ? data.fed.length : data.source.length;
      const lengths = { query: isEncoder ? data.source.length : data.fed.length, key };
      mark(
        node,
        item,
        isEncoder ? source : step,
        kind === "cross" ? source : -1,
        lengths,
        data.maps[kind ?? "cross"].visible,
      );
    }
    if (type === "word") {
      const chosen = index === (side === "source" ? source : step);
      node.classList.toggle("on", chosen);
      node.classList.toggle("later", side !== "source" && index > step);
      node.setAttribute("aria-pressed", String(chosen));
    }
    if (type === "option") showOption(state, node, item);
    if (node instanceof SVGAElement) {
      const address = addressOf(data, partOf(data, item, step), step, source);
      if (address) node.setAttribute("href", address);
      else node.removeAttribute("href");
    }
  }
  state.play?.show(); // which names the part whose lines are shown
  const explained = state.code?.show();
  for (const { node } of state.drawn) node.classList.toggle("explained", node === explained);
  setStop(state);
}

/** @param {State} state @param {SVGElement} node @param {Item} item */
function showOption({ data, step }, node, item) {
  const shown = data.options[step][item.index ?? 0];
  node.replaceChildren(option(item, shown));
  const part = partOf(data, item, step);
  node.setAttribute("aria-label", part?.name ?? "");
  if (part) node.prepend(vector("title", {}, part.name));
}

// --- the keyboard ----------------------------------------------------------------------------------------------------

/** @param {State} state */
function stops({ drawn }) {
  return drawn.filter(({ node }) => node.getAttribute("role") === "button" || node.hasAttribute("href"));
}

/** Tab reaches the part that had the focus last, at first the chosen word of the translation. @param {State} state */
function setStop(state) {
  const all = stops(state);
  const chosen =
    all.find(({ key }) => key === state.reached) ?? all.find(({ item }) => isChosen(state, item)) ?? all[0];
  const others = new Set(state.drawn);
  for (const each of all) {
    each.node.setAttribute("tabindex", each === chosen ? "0" : "-1"); // without it between, the part would lose the focus
    others.delete(each);
  }
  for (const { node } of others) node.removeAttribute("tabindex");
}

/** @param {State} state @param {Item} item */
function isChosen({ step }, { side, index }) {
  return side === "predicted" && index === step;
}

/** @param {State} state @param {string} key */
function focus(state, key) {
  const found = stops(state).find((each) => each.key === key);
  if (!found) return;
  state.reached = key;
  setStop(state);
  found.node.focus({ preventScroll: true });
}

/** @param {State} state @param {KeyboardEvent} event */
function move(state, event) {
  const all = stops(state);
  const from = all.findIndex(({ node }) => node === focusedIn(state.root));
  const to = from < 0 ? undefined : nextStop(all, from, event.key);
  if (to === undefined) return;
  event.preventDefault();
  state.reached = all[to].key;
  setStop(state);
  all[to].node.focus();
}
