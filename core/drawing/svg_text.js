// @ts-check
// Text of a page as text of an SVG: each run of letters on one line, as wide as on the page.

import { element } from "./dom.js";
import { paint, rounded } from "./svg_paint.js";

/** @typedef {{ text: string, rect: DOMRect }} Run */

const NOT_IN_XML = /[^\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu; // control characters, halves of letters
const ELLIPSIS = "\u2026";

/** @type {CanvasRenderingContext2D | null} */
let context = null;

/** @param {CSSStyleDeclaration} style @returns {TextMetrics} Of the font, for an ellipsis. */
function measured(style) {
  context ??= /** @type {CanvasRenderingContext2D} */ (element("canvas").getContext("2d"));
  context.font = style.font;
  return context.measureText(ELLIPSIS);
}

/** @param {string} text */
export function escaped(text) {
  /** @type {Record<string, string>} */
  const names = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  return text.replace(NOT_IN_XML, "\ufffd").replace(/[&<>"]/g, (letter) => names[letter]);
}

/**
 * The runs of letters of a text that is laid out by a style sheet.
 * @param {Text} node
 * @param {CSSStyleDeclaration} style Of its parent.
 * @param {DOMRect | null} limit Of the box that cuts it off with an ellipsis.
 * @returns {Run[]}
 */
export function textRuns(node, style, limit) {
  const range = document.createRange();
  range.selectNodeContents(node);
  const rects = [...range.getClientRects()].filter(({ width, height }) => width && height);
  const own = (/** @type {string} */ text) => (style.textTransform === "uppercase" ? text.toUpperCase() : text);
  if (!rects.length) return [];
  if (rects.length === 1 && !limit && !/^\s|\s$|\s\s|[\n\t]/.test(node.data)) {
    return [{ text: own(node.data), rect: rects[0] }];
  }
  /** @type {Run[]} */
  const runs = [];
  const isDown = style.writingMode !== "horizontal-tb";
  const room = limit ? (isDown ? limit.bottom : limit.right) - measured(style).width + 0.5 : Infinity;
  for (const { index, segment } of new Intl.Segmenter().segment(node.data)) {
    range.setStart(node, index);
    range.setEnd(node, index + segment.length);
    const rect = [...range.getClientRects()].find(({ width, height }) => width && height);
    if (!rect) continue;
    const last = runs.at(-1);
    const [start, end] = isDown ? [rect.top, rect.bottom] : [rect.left, rect.right];
    if (end > room) {
      if (last) add(last, ELLIPSIS, moved(last.rect, measured(style).width, isDown));
      else if (start <= room) runs.push({ text: ELLIPSIS, rect: moved(rect, measured(style).width, isDown) });
      break;
    }
    if (last && isNext(last.rect, rect, isDown)) add(last, own(segment), rect);
    else runs.push({ text: own(segment), rect });
  }
  return runs.filter(({ text }) => text.trim());
}

/**
 * Whether a letter continues a line, at either end of it.
 * @param {DOMRect} line
 * @param {DOMRect} letter
 * @param {boolean} isDown
 */
function isNext(line, letter, isDown) {
  if (isDown) return line.left === letter.left && Math.abs(letter.top - line.bottom) < 1;
  const gap = Math.max(letter.left - line.right, line.left - letter.right);
  return line.top === letter.top && Math.abs(gap) < 1;
}

/** @param {Run} run @param {string} text @param {DOMRect} rect */
function add(run, text, rect) {
  const [left, top] = [Math.min(run.rect.left, rect.left), Math.min(run.rect.top, rect.top)];
  const [right, bottom] = [Math.max(run.rect.right, rect.right), Math.max(run.rect.bottom, rect.bottom)];
  run.text += text;
  run.rect = new DOMRect(left, top, right - left, bottom - top);
}

/** The box of letters behind others. @param {DOMRect} rect @param {number} size @param {boolean} isDown */
function moved({ left, right, top, bottom, width, height }, size, isDown) {
  return isDown ? new DOMRect(left, bottom, width, size) : new DOMRect(right, top, size, height);
}

/**
 * @param {Run} run
 * @param {CSSStyleDeclaration} style
 * @param {string} decoration Such as `underline`; it is not inherited.
 */
export function textElement({ text, rect }, style, decoration) {
  const isDown = style.writingMode !== "horizontal-tb";
  const { fontBoundingBoxAscent, fontBoundingBoxDescent } = measured(style);
  const [ascent, descent] = [fontBoundingBoxAscent, fontBoundingBoxDescent].map(Math.round);
  const free = ((isDown ? rect.width : rect.height) - ascent - descent) / 2;
  const x = isDown ? rect.right - free - ascent : rect.left;
  const y = isDown ? rect.top : rect.top + free + ascent;
  const place = isDown ? `transform="rotate(90 ${rounded(x)} ${rounded(y)})"` : "";
  return textAt(text, x, y, isDown ? rect.height : rect.width, style, paint("fill", style.color), place, decoration);
}

/**
 * @param {string} text
 * @param {number} x Of its first letter at the left.
 * @param {number} y Of its base line.
 * @param {number} width
 * @param {CSSStyleDeclaration} style
 * @param {string | null} colors Attributes.
 * @param {string} [place] Further attributes.
 * @param {string} [decoration]
 */
export function textAt(text, x, y, width, style, colors, place = "", decoration = "none") {
  if (!colors || !text.trim()) return "";
  const isLeft = style.direction === "rtl";
  const attributes = {
    x: rounded(isLeft ? x + width : x),
    y: rounded(y),
    direction: isLeft ? "rtl" : "",
    "font-family": style.fontFamily,
    "font-size": rounded(parseFloat(style.fontSize)),
    "font-weight": style.fontWeight === "400" ? "" : style.fontWeight,
    "font-style": style.fontStyle === "normal" ? "" : style.fontStyle,
    "letter-spacing": style.letterSpacing === "normal" ? "" : style.letterSpacing,
    "text-decoration": decoration === "none" ? "" : decoration,
    style: style.fontVariantNumeric === "normal" ? "" : `font-variant-numeric:${style.fontVariantNumeric}`,
    textLength: rounded(width), // as wide where the font is missing
  };
  const written = Object.entries(attributes)
    .filter(([, value]) => value !== "")
    .map(([name, value]) => ` ${name}="${escaped(String(value))}"`);
  const look = `${written.join("")}${colors} ${place}`;
  return `<text xml:space="preserve" lengthAdjust="spacingAndGlyphs"${look.trimEnd()}>${escaped(text)}</text>`;
}
