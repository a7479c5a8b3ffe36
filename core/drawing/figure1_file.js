// @ts-check
// Figure 1 as a file: its SVG with the colours and fonts that the style sheet gives it.

import { element } from "./dom.js";

const PROPERTIES = [
  ...["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "opacity", "display", "image-rendering"],
  ...["font-family", "font-size", "font-weight", "letter-spacing", "text-anchor"],
];
const DRAWN = ["path", "rect", "circle", "text", "tspan", "image"]; // what the style sheet gives colours
const ATTRIBUTES = ["class", "href", "tabindex", "data-key", "role", "aria-pressed", "aria-expanded"]; // of a page alone

/**
 * @param {SVGSVGElement} svg Part of a page.
 * @returns {string} The text of the file, in the colours of the page.
 */
export function figureFile(svg) {
  const copy = /** @type {SVGSVGElement} */ (svg.cloneNode(true));
  const pairs = [...svg.querySelectorAll("*")].map((node, index) => [node, copy.querySelectorAll("*")[index]]);
  for (const [shown, copied] of pairs) {
    if (DRAWN.includes(copied.tagName)) {
      const style = getComputedStyle(shown);
      const value = (/** @type {string} */ name) => plainColor(style.getPropertyValue(name));
      copied.setAttribute("style", PROPERTIES.map((name) => `${name}:${value(name)}`).join(";"));
    }
    if (shown instanceof SVGTextElement && shown.textContent) {
      // as wide where the font is missing
      copied.setAttribute("textLength", shown.getComputedTextLength().toFixed(1));
      copied.setAttribute("lengthAdjust", "spacingAndGlyphs");
    }
    for (const name of ATTRIBUTES) if (name !== "href" || copied.tagName === "a") copied.removeAttribute(name);
  }
  const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  const host = /** @type {HTMLElement} */ (svg.parentElement);
  ground.setAttribute("style", `fill:${getComputedStyle(host).getPropertyValue("--ground")}`);
  for (const side of ["width", "height"]) ground.setAttribute(side, svg.getAttribute(side) ?? "");
  copy.prepend(ground);
  return new XMLSerializer().serializeToString(copy);
}

/** Of one pixel, which turns any colour into red, green and blue. @type {CanvasRenderingContext2D | null} */
let pixel = null;

/**
 * A colour as every reader of SVG knows it: mixed ones are in other notations, as `oklab(...)`.
 * @param {string} value
 */
function plainColor(value) {
  if (!/^(color|oklab|oklch|lab|lch)\(/.test(value)) return value;
  pixel ??= element("canvas").getContext("2d", { willReadFrequently: true });
  if (!pixel) return value;
  pixel.fillStyle = value;
  pixel.fillRect(0, 0, 1, 1);
  return `rgb(${[...pixel.getImageData(0, 0, 1, 1).data].slice(0, 3).join(", ")})`;
}
