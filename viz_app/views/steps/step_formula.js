// @ts-check
// A formula as text with sub- and superscripts, fractions and roots, in the fonts of KaTeX that Streamlit includes.

import { element } from "../../../core/drawing/dom.js";
import { scrolling } from "../../../core/drawing/scrolling.js";

/** @typedef {[tag: string, ...children: (string | MathTree)[]]} MathTree See `math_tree` in formula.py. */

const SPACED = "=+\u2212\u22c5\u2190\u2192>";

/** @param {MathTree} tree */
export function formulaNode(tree) {
  const node = element("div", "formula");
  node.setAttribute("role", "math");
  node.setAttribute("aria-label", textOf(tree));
  node.append(part(tree));
  scrolling(node);
  return node;
}

/** @param {MathTree} tree @returns {HTMLElement} */
function part([tag, ...children]) {
  const [first] = children;
  const isLetter = tag === "mi" && typeof first === "string" && first.length === 1;
  const isSpaced = tag === "mo" && typeof first === "string" && SPACED.includes(first);
  const style = isLetter ? " letter" : isSpaced ? " spaced" : first === "," ? " comma" : "";
  const node = element("span", tag + style);
  node.append(...children.map((child) => (typeof child === "string" ? child : part(child))));
  return node;
}

/** @param {string | MathTree} tree @returns {string} */
function textOf(tree) {
  return typeof tree === "string" ? tree : tree.slice(1).map(textOf).join("");
}
