// @ts-check
// Shared by the components: data that arrive out of order, words selected in one drawing and highlighted in all, and
// state that only the browser keeps.

/** @import { Axis, AxisData, Drawing, Events, HeadData, Modifiers, PerAxis, Place } from "../../core/drawing/types" */
/** @import { Renderer } from "./streamlit" */

import { element } from "../../core/drawing/dom.js";
import { setTexts } from "../../core/drawing/texts.js";

/** @type {WeakMap<ShadowRoot, number>} */
const drawnSince = new WeakMap();

/**
 * Data of a component with the time of their last change, see `dated` in component.py.
 * @template Data
 * @typedef {[since: number, data: Data, texts: import("../../core/drawing/texts.js").Texts, key: string]} Dated
 */

/**
 * A component that ignores data older than those it shows, and draws those of a preview.
 * @template Data
 * @param {Renderer<Data>} draw
 * @returns {Renderer<Dated<Data>>}
 */
export function component(draw) {
  return ({ data: [since, data, texts, key], parentElement, setTriggerValue }) => {
    if (!drawnSince.has(parentElement)) showTapped(parentElement);
    if (since < (drawnSince.get(parentElement) ?? 0)) return undefined;
    setTexts(texts);
    const show = (/** @type {number} */ time, /** @type {Data} */ shown) => {
      drawnSince.set(parentElement, time);
      return draw({ data: shown, parentElement, setTriggerValue: (name, value) => setTriggerValue(name, value) });
    };
    let stop = show(since, data);
    const preview = (/** @type {Event} */ event) => {
      const found = /** @type {CustomEvent<Preview>} */ (event).detail[key];
      if (!found) return;
      stop?.();
      stop = show(found[0], /** @type {Data} */ (found[1]));
    };
    return replaceListener(rootOf(parentElement), PREVIEW, preview, () => stop?.());
  };
}

/**
 * Data of drawings of a sentence that was just entered, with their time, by the keys of the components.
 * @typedef {Record<string, [since: number, data: unknown]>} Preview
 */
const PREVIEW = "headlight:preview";

/** @param {Preview} preview */
export function tellPreview(preview) {
  window.dispatchEvent(new CustomEvent(PREVIEW, { detail: preview }));
}

const SHOWN_FOR = 4000; // milliseconds

/**
 * Show the text of a tapped element that a pointer would show on hover.
 * @param {ShadowRoot} place
 */
function showTapped(place) {
  const box = element("div", "tapped");
  box.hidden = true;
  box.setAttribute("role", "status");
  place.append(box);
  let timer = 0;
  place.addEventListener("click", (event) => {
    const { pointerType, clientX, clientY } = /** @type {PointerEvent} */ (event);
    if (pointerType !== "touch") return;
    const texts = event
      .composedPath()
      .filter((each) => each instanceof Element)
      .map((each) => each.getAttribute("title") ?? each.querySelector(":scope > title")?.textContent);
    box.textContent = texts.find(Boolean) ?? "";
    box.hidden = !box.textContent;
    const { offsetWidth, offsetHeight } = box;
    const left = Math.max(8, Math.min(clientX - offsetWidth / 2, window.innerWidth - offsetWidth - 8));
    const above = clientY - offsetHeight - 24; // clear of the finger
    Object.assign(box.style, { left: `${left}px`, top: `${above > 8 ? above : clientY + 24}px` });
    clearTimeout(timer);
    timer = window.setTimeout(() => (box.hidden = true), SHOWN_FOR);
  });
}

/**
 * The element that a component draws into.
 * @param {ShadowRoot} parentElement
 */
export function rootOf(parentElement) {
  return /** @type {HTMLElement} */ (parentElement.querySelector(".root"));
}

// --- attention: lines and maps ---------------------------------------------------------------------------------------

/**
 * Data of a drawing of attention.
 * @typedef {AxisData & { heads: HeadData[], links: PerAxis<string[]> | null, followsClicks: boolean }} AttentionData
 * `followsClicks`: a head clicked in the grid is drawn at once.
 */

/**
 * A click in the grid: the head, and the rows and columns of its map.
 * @typedef {{ head: HeadData, size: PerAxis<number> }} ClickedHead
 */
const CLICKED = "headlight:clicked";
const ONE_COLUMN = 640; // pixels: up to this width of the window the picture is below the grid, out of sight

/**
 * Clicks that the server has not answered yet, with the words of the drawing when they were made.
 * @type {WeakMap<HTMLElement, { head: HeadData, words: string }[]>}
 */
const unanswered = new WeakMap();

/** @param {ClickedHead} clicked */
export function tellClicked(clicked) {
  window.dispatchEvent(new CustomEvent(CLICKED, { detail: clicked }));
}

/**
 * A component that draws attention. It highlights words that are pointed at in other drawings, and draws a head that is
 * clicked in the grid at once; the server sends the same head a little later.
 * @param {(container: HTMLElement, data: any, events: Events) => Drawing} draw
 * @returns {Renderer<Dated<AttentionData>>}
 */
export function attentionComponent(draw) {
  return component(({ data, parentElement, setTriggerValue }) => {
    const onCut = (/** @type {Place & { head?: string }} */ place) => setTriggerValue("cut", place);
    const onCell = (/** @type {Place & { head: string }} */ place) => setTriggerValue("cell", place);
    const root = rootOf(parentElement);
    const words = JSON.stringify([data.query, data.key]);
    const show = (/** @type {HeadData[]} */ heads) => linked(root, { ...data, heads }, draw, { onCut, onCell });
    const clicks = laterClicks(root, data.heads, words);
    let stop = show(clicks.length ? [clicks[clicks.length - 1].head] : data.heads);
    const follow = (/** @type {Event} */ event) => {
      const { head, size } = /** @type {CustomEvent<ClickedHead>} */ (event).detail;
      if (!data.followsClicks || size.query !== data.query.length || size.key !== data.key.length) return;
      clicks.push({ head, words });
      stop();
      stop = show([head]);
      if (window.innerWidth <= ONE_COLUMN) root.scrollIntoView({ block: "nearest" });
    };
    return replaceListener(root, CLICKED, follow, () => stop());
  });
}

/**
 * Clicks made after the one that the page now answers; none if it answers none of them.
 * @param {HTMLElement} root
 * @param {HeadData[]} heads
 * @param {string} words
 */
function laterClicks(root, heads, words) {
  const clicks = unanswered.get(root) ?? [];
  const answered = clicks.findIndex(
    (clicked) => heads.length === 1 && clicked.head.name === heads[0].name && clicked.words === words,
  );
  const later = answered < 0 ? [] : clicks.slice(answered + 1);
  unanswered.set(root, later);
  return later;
}

/**
 * Draw attention whose words are pointed at and selected together with those of the other drawings.
 * @template {{ query: unknown[], key: unknown[], links: PerAxis<string[]> | null }} Data
 * @param {HTMLElement} root
 * @param {Data} data
 * @param {(container: HTMLElement, data: Data, events: Events) => Drawing} draw
 * @param {Pick<Events, "onCut" | "onCell">} changes
 */
function linked(root, data, draw, changes) {
  const { links } = data;
  const size = { query: data.query.length, key: data.key.length };
  const onPoint = (/** @type {Place} */ place) => links && tellPointed(root, linkedPlace(place, size, links));
  const drawing = draw(root, data, { onPoint, onSelect: select, ...changes });
  const stop = listen(root, (place) => drawing.highlight(placed(place, size, links)));
  return () => [stop(), drawing.disconnect()];
}

// --- words pointed at and selected -----------------------------------------------------------------------------------

const SELECTED = "headlight:selected";
const POINTED = "headlight:pointed";

/**
 * A row, a column or a cell of one drawing as others need it: with the drawing's size and the names of its words. The
 * sentence bar knows only a word.
 * @typedef {Place & { size?: PerAxis<number>, links?: PerAxis<string[]>, words: string[] }} LinkedPlace
 */

/**
 * Select a word of the sentence; with a modifier key held down, in addition to those selected. The sentence bar, which
 * is on every page, handles the event.
 * @param {string} word "": clear the selection.
 * @param {Modifiers} modifiers
 */
export function select(word, { ctrlKey = false, metaKey = false, shiftKey = false }) {
  window.dispatchEvent(new CustomEvent(SELECTED, { detail: { word, also: ctrlKey || metaKey || shiftKey } }));
}

/**
 * Call a function when a word is selected in any drawing; in place of the one given before for the same root.
 * @param {HTMLElement} root
 * @param {(word: string, also: boolean) => void} handle
 */
export function onSelected(root, handle) {
  return replaceListener(root, SELECTED, (event) => {
    const { word, also } = /** @type {CustomEvent<{ word: string, also: boolean }>} */ (event).detail;
    handle(word, also);
  });
}

/**
 * Highlight what is pointed at in this drawing in all others; null: nothing is pointed at any more.
 * @param {HTMLElement} root
 * @param {LinkedPlace | null} place
 */
export function tellPointed(root, place) {
  window.dispatchEvent(new CustomEvent(POINTED, { detail: { from: root, place } }));
}

/**
 * Call a function with each place pointed at in another drawing; in place of the one given before for the same root.
 * @param {HTMLElement} root
 * @param {(place: LinkedPlace | null) => void} handle
 */
export function listen(root, handle) {
  return replaceListener(root, POINTED, (event) => {
    const { from, place } = /** @type {CustomEvent<{ from: HTMLElement, place: LinkedPlace | null }>} */ (event).detail;
    if (from !== root) handle(place);
  });
}

/** @type {WeakMap<HTMLElement, Map<string, EventListener>>} */
const listeners = new WeakMap();

/**
 * Listen to an event of the window until the drawing is drawn again or removed.
 * @param {HTMLElement} root
 * @param {string} name
 * @param {EventListener} listener
 * @param {() => void} [cleanUp]
 * @returns {() => void} Stops listening.
 */
export function replaceListener(root, name, listener, cleanUp) {
  const known = listeners.get(root) ?? new Map();
  listeners.set(root, known);
  window.removeEventListener(name, known.get(name));
  known.set(name, listener);
  window.addEventListener(name, listener);
  return () => {
    window.removeEventListener(name, listener);
    cleanUp?.();
  };
}

/**
 * The row and the column of this drawing that show a place of another: the same where all words are the same, otherwise
 * those of the same words.
 * @param {LinkedPlace | null} place
 * @param {PerAxis<number>} size
 * @param {PerAxis<string[]> | null} links Names of the words of rows and columns.
 * @returns {Place}
 */
export function placed(place, size, links) {
  if (!place || !links) return {};
  const same = (/** @type {Axis} */ axis) =>
    place.size?.[axis] === size[axis] && String(place.links?.[axis]) === String(links[axis]);
  if (same("query") && same("key")) return { query: place.query, key: place.key };
  const found = (/** @type {Axis} */ axis) => {
    const index = place[axis];
    const word = !place.links ? place.words[0] : index === undefined ? undefined : place.links[axis][index];
    const at = word ? links[axis].indexOf(word) : -1;
    return at < 0 ? undefined : at;
  };
  return { query: found("query"), key: found("key") };
}

/**
 * @param {Place} place
 * @param {PerAxis<number>} size
 * @param {PerAxis<string[]>} links
 * @returns {LinkedPlace | null}
 */
function linkedPlace({ query, key }, size, links) {
  if (query === undefined && key === undefined) return null;
  const words = [query === undefined ? "" : links.query[query], key === undefined ? "" : links.key[key]];
  return { query, key, size, links, words: words.filter(Boolean) };
}

// --- state that the browser keeps ------------------------------------------------------------------------------------

/** @type {Map<string, { value: number | null, about: unknown }>} */
const kept = new Map();

/**
 * A number in the address, such as a slider of a drawing. Another page has another address, so it is also remembered
 * here.
 * @param {string} name In the address; no widget has it.
 * @param {number} least
 * @param {number} most
 * @param {unknown} [about] What the remembered number belongs to; it is ignored for anything else.
 * @returns {number | undefined} Undefined where there is none, or one out of range.
 */
export function restored(name, least, most, about) {
  const last = kept.get(name);
  const text = new URLSearchParams(window.location.search).get(name);
  const value = text !== null ? Number(text) : last?.about === about ? last?.value : null;
  return value != null && Number.isInteger(value) && value >= least && value <= most ? value : undefined;
}

/**
 * @param {string} name
 * @param {number | null} value null: remove it.
 * @param {unknown} [about]
 */
export function keep(name, value, about) {
  kept.set(name, { value, about });
  const address = new URL(window.location.href);
  if (address.searchParams.get(name) === (value === null ? null : String(value))) return;
  if (value === null) address.searchParams.delete(name);
  else address.searchParams.set(name, String(value));
  window.history.replaceState(window.history.state, "", address);
}

/**
 * Go to an address of the app, as its navigation does: without loading the page again.
 * @param {string} address Relative to the app's.
 */
export function openAddress(address) {
  window.history.pushState(null, "", address);
  window.dispatchEvent(new PopStateEvent("popstate", { state: null })); // Streamlit shows the address that is current
}

const ASKED_EVERY = 25; // milliseconds
const AT_MOST = 4000;

/**
 * Do something once the server has drawn the whole page: before, boxes may have the values that they had before the
 * click, and a link to another page would send these back.
 * @param {() => void} act
 */
export function whenDrawn(act) {
  const since = performance.now();
  const timer = window.setInterval(() => {
    const isDrawn = document.querySelector(".stApp[data-test-script-state=notRunning]");
    if (!isDrawn && performance.now() - since < AT_MOST) return;
    window.clearInterval(timer);
    act();
  }, ASKED_EVERY);
}
