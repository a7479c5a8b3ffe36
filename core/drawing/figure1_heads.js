// @ts-check
// Figure 1 on pages other than the app: in the colours of the page, and with a link from every head to its weights there.

/** @import { Figure1Chosen, Figure1Data, Figure1Drawing } from "./types" */

import { control, element } from "./dom.js";
import { pageScale } from "./shades.js";
import { drawFigure1 } from "./figure1.js";

const LINK = "#{kind}.{layer}.{head}"; // Figure 1 counts from 1 there

/**
 * @param {HTMLElement} container Emptied.
 * @param {Omit<Figure1Data, "scale" | "links">} data
 * @param {(chosen: { kind: string, layer: number, head: number }) => void} onHead A head was clicked; counted from 0.
 * @param {{ stop?: string, onPlay?: (stop: string | undefined) => void }} [play] Its stop at first, and a listener.
 */
export function drawFigureOfHeads(container, data, onHead, { stop, onPlay } = {}) {
  const [bar, place] = [control(element("div", "start")), element("div")];
  container.replaceChildren(bar, place);
  const onFollow = (/** @type {string} */ address) => {
    const [kind, layer, head] = address.slice(1).split(".");
    onHead({ kind, layer: Number(layer) - 1, head: Number(head) - 1 });
  };
  /** @type {Figure1Drawing | undefined} */
  let drawing;
  const recolor = () => {
    /** @type {Partial<Figure1Chosen>} */
    const chosen = drawing?.chosen() ?? { stop };
    drawing?.disconnect();
    const all = { ...data, scale: pageScale(container), links: { head: LINK } };
    drawing = drawFigure1(place, all, chosen, { onFollow, onPlay });
    bar.replaceChildren(drawing.start);
  };
  recolor();
  return { recolor, disconnect: () => drawing?.disconnect() };
}
