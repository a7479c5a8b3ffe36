// @ts-check
// Words pointed at and selected in one drawing, and highlighted in all.

/** @import { Axis, Modifiers, PerAxis, Place } from "../../core/drawing/types" */

import { replaceListener } from "./renderer.js";

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

/** @param {Place} place @param {PerAxis<number>} size @param {PerAxis<string[]>} links @returns {LinkedPlace | null} */
export function linkedPlace({ query, key }, size, links) {
  if (query === undefined && key === undefined) return null;
  const words = [query === undefined ? "" : links.query[query], key === undefined ? "" : links.key[key]];
  return { query, key, size, links, words: words.filter(Boolean) };
}
