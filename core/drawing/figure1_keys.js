// @ts-check
// Where arrow keys lead to in Figure 1: to the nearest part in their direction.

/** @import { Drawn } from "./figure1.js" */

const TITLE = 14; // pixels that the title of attention takes, roughly

/**
 * @param {readonly Drawn[]} parts
 * @param {number} from Index of the part with the focus.
 * @param {string} key
 * @returns {number | undefined} Index of the next one.
 */
export function nextStop(parts, from, key) {
  if (key === "Home") return 0;
  if (key === "End") return parts.length - 1;
  /** @type {Record<string, [number, number]>} */
  const ways = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
  const way = ways[key];
  if (!way) return undefined;
  const here = area(parts[from]);
  let best;
  let least = Infinity;
  for (let index = 0; index < parts.length; index++) {
    const there = area(parts[index]);
    const [right, down] = [there.x - here.x, there.y - here.y];
    const along = right * way[0] + down * way[1];
    if (index === from || along < 1) continue;
    const aside = way[0]
      ? apart(here.y, here.high, there.y, there.high)
      : apart(here.x, here.wide, there.x, there.wide);
    const off = Math.abs(way[0] ? down : right);
    const cost = along + 4 * aside + 0.2 * off;
    if (cost < least) [best, least] = [index, cost];
  }
  return best;
}

/** The middle of a part, and half of its sides. @param {Drawn} part */
function area({ item, node }) {
  const { x, y, width, height } = /** @type {SVGGraphicsElement} */ (node).getBBox();
  const high = (item.look === "attention" ? TITLE : height) / 2; // the heads are parts of their own
  return { x: x + width / 2, y: y + high, wide: width / 2, high };
}

/**
 * The gap between two stretches, 0 if they overlap.
 * @param {number} first
 * @param {number} half
 * @param {number} second
 * @param {number} otherHalf
 */
function apart(first, half, second, otherHalf) {
  return Math.max(0, Math.abs(first - second) - half - otherHalf);
}
