// @ts-check
// Drawings of attention as components: lines and maps.

/** @import { AxisData, Drawing, Events, HeadData, PerAxis, Place } from "../../core/drawing/types" */
/** @import { Dated } from "./renderer.js" */
/** @import { Renderer } from "./streamlit" */

import { linkedPlace, listen, placed, select, tellPointed } from "./linked_words.js";
import { component, replaceListener, rootOf } from "./renderer.js";

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
