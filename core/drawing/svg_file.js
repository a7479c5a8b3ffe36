// @ts-check
// What the browser has drawn as SVG: boxes, lines, pixels and text, at their places on the page and in its colours.
// Frames that scroll are shown whole, controls are left out.

/** @import { State } from "./svg_boxes.js" */

import { element } from "./dom.js";
import { boxElements, clipped, common, grouped, grow, pixelElements } from "./svg_boxes.js";
import { rounded } from "./svg_paint.js";
import { escaped, textElement, textRuns } from "./svg_text.js";
import { vectorElements } from "./svg_vectors.js";

const PAD = 8; // pixels around what is drawn
// What belongs to the page, not to the picture; `data-control` marks more of it.
const CONTROLS =
  "[data-control], input, select, textarea, .tapped, .hoverlayer, .modebar, [data-testid=stElementToolbar]";
const NOT_DRAWN = ["style", "script", "template", "title", "link"];

/**
 * @typedef {object} Svg A picture.
 * @property {number} width Pixels.
 * @property {number} height
 * @property {string} ground Colour of the page.
 * @property {string} text Colour of its text.
 * @property {string} content Elements of SVG.
 */

/** @param {HTMLElement} place @returns {Promise<Svg>} */
export async function drawnSvg(place) {
  const images = await loadedImages(place);
  const bounds = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
  /** @type {State} */
  const state = { images, turned: new Map(), matrix: new DOMMatrix(), clip: null, clips: 0, bounds };
  const restore = layOut(place, state.turned);
  try {
    const drawn = drawElement(state, place, "none", null);
    const { left, top, right, bottom } = bounds.left < bounds.right ? bounds : place.getBoundingClientRect();
    const [x, y] = [Math.floor(left - PAD), Math.floor(top - PAD)];
    return {
      width: Math.ceil(right + PAD) - x,
      height: Math.ceil(bottom + PAD) - y,
      ...pageColors(place),
      content: `<g transform="translate(${-x} ${-y})">${drawn}</g>`,
    };
  } finally {
    restore();
  }
}

/** @param {Svg} picture @param {string} [style] Rules, as for fonts. @returns {string} A file. */
export function svgFile({ width, height, ground, content }, style = "") {
  const size = `width="${width}" height="${height}"`;
  const rules = style && `<style>${style}</style>`;
  const root = `<svg xmlns="http://www.w3.org/2000/svg" ${size} viewBox="0 0 ${width} ${height}">`;
  return `${root}${rules}<rect ${size} fill="${escaped(ground)}"/>${content}</svg>`;
}

/** @param {Element} node @returns {Iterable<Element>} It and all in it, also in shadow roots and frames. */
function* elements(node) {
  yield node;
  for (const child of (bodyOf(node) ?? node.shadowRoot ?? node).children) yield* elements(child);
}

/** The page in a frame, if its scripts are this app's. @param {Element} node */
function bodyOf(node) {
  return /** @type {Partial<HTMLIFrameElement>} */ (node).contentDocument?.body;
}

/** @param {Element} place */
function pageColors(place) {
  let ground = "";
  for (let node = /** @type {Element | null} */ (place); node && !ground; node = parentOf(node)) {
    const { backgroundColor } = getComputedStyle(node);
    if (backgroundColor !== "rgba(0, 0, 0, 0)") ground = backgroundColor;
  }
  return { ground: ground || "#ffffff", text: getComputedStyle(place).color };
}

/** @param {Element} node */
function parentOf(node) {
  return node.parentElement ?? /** @type {Partial<ShadowRoot>} */ (node.getRootNode()).host ?? null;
}

/** The images of a page, ready to be read; those that cannot be loaded are left out. @param {Element} place */
async function loadedImages(place) {
  /** @type {Map<string, HTMLImageElement>} */
  const images = new Map();
  for (const node of elements(place)) {
    const own =
      node.localName === "image" ? node.getAttribute("href") : /** @type {HTMLImageElement} */ (node).currentSrc;
    const address = own || /url\("([^"]+)"\)/.exec(getComputedStyle(node).backgroundImage)?.[1];
    if (address?.startsWith("data:") || node.localName === "img") images.set(address ?? "", new Image());
  }
  await Promise.allSettled(
    [...images].map(([address, image]) => {
      image.src = address;
      return image.decode().catch(() => images.delete(address));
    }),
  );
  return images;
}

/**
 * Lay a page out as a picture: without controls, with frames that scroll as large as their contents, without transforms.
 * @param {Element} place
 * @param {Map<Element, DOMMatrix>} turned Gets the transforms, about the top left corners of the boxes.
 * @returns {() => void} Takes all of it back, before the browser shows it.
 */
function layOut(place, turned) {
  /** @type {[HTMLElement, Record<string, string>][]} */
  const changes = [];
  /** @type {(() => void)[]} */
  const undo = [];
  /** @type {Set<Node>} */
  const roots = new Set();
  /** @type {[Element, "prepend" | "append" | "before", HTMLElement][]} */
  const added = [];
  for (const node of elements(place)) {
    const style = getComputedStyle(node);
    if (!("offsetWidth" in node)) continue; // it is no box but part of an SVG
    const box = /** @type {HTMLElement} */ (node);
    roots.add(node.getRootNode());
    if (node.matches(CONTROLS)) changes.push([box, { display: "none" }]);
    if (style.position === "sticky") changes.push([box, { position: "relative", inset: "auto" }]);
    if (/auto|scroll/.test(style.overflow)) {
      const { scrollLeft, scrollTop } = node;
      undo.push(() => Object.assign(node, { scrollLeft, scrollTop }));
      changes.push([box, { overflow: "visible", "max-height": "none", mask: "none" }]);
    }
    if (style.transform !== "none") {
      const [x, y] = style.transformOrigin.split(" ").map(parseFloat);
      turned.set(node, new DOMMatrix().translate(x, y).multiply(new DOMMatrix(style.transform)).translate(-x, -y));
      changes.push([box, { transform: "none" }]);
    }
    if (node.localName === "select") {
      const { selectedOptions } = /** @type {HTMLSelectElement} */ (node);
      added.push([node, "before", element("span", "", selectedOptions[0]?.text)]);
    }
    for (const part of /** @type {const} */ (["::before", "::after"])) {
      if (/^(none|normal)$/.test(getComputedStyle(node, part).content)) continue;
      added.push([node, part === "::before" ? "prepend" : "append", copied(node, part)]);
    }
  }
  for (const root of roots) {
    const sheet = element("style", "", "*::before, *::after { content: none !important; }");
    ("head" in root ? /** @type {Document} */ (root).head : root).appendChild(sheet);
    undo.push(() => sheet.remove());
  }
  for (const [node, place, span] of added) {
    node[place](span);
    undo.push(() => span.remove());
  }
  for (const [node, properties] of changes) {
    const before = node.getAttribute("style");
    undo.push(() => (before === null ? node.removeAttribute("style") : node.setAttribute("style", before)));
    for (const [name, value] of Object.entries(properties)) node.style.setProperty(name, value, "important");
  }
  return () => undo.reverse().forEach((each) => each());
}

/** What a style sheet generates, as an element. @param {Element} node @param {"::before" | "::after"} part */
function copied(node, part) {
  const style = getComputedStyle(node, part);
  const span = element("span", "", style.content.replace(/^"|"$/g, ""));
  for (const name of style) span.style.setProperty(name, style.getPropertyValue(name));
  return span;
}

/**
 * @param {State} state
 * @param {Element} node
 * @param {string} decoration Of the text in it.
 * @param {DOMRect | null} limit Of the box that cuts it off with an ellipsis.
 * @returns {string}
 */
function drawElement(state, node, decoration, limit) {
  const style = getComputedStyle(node);
  const isHidden = style.display === "none" || style.opacity === "0" || style.clipPath === "inset(50%)";
  if (isHidden || NOT_DRAWN.includes(node.localName)) return "";
  const box = node.getBoundingClientRect();
  const { matrix, clip } = state;
  const turned = state.turned.get(node);
  const { left, top } = box;
  let own = turned && new DOMMatrix().translate(left, top).multiply(turned).translate(-left, -top);
  if (node.localName === "iframe") own = new DOMMatrix().translate(left, top); // places in it are counted from there
  if (own) state.matrix = matrix.multiply(own);
  const isVisible = style.visibility === "visible" && node.localName !== "iframe";
  const parts = isVisible ? boxElements(state, node, style, box) : { below: "", above: "" };
  const cut = cutOff(node, style, box);
  if (cut?.isClipped) state.clip = common(clip, box);
  let inside;
  if (node.localName === "svg") inside = vectorElements(state, /** @type {SVGSVGElement} */ (node));
  else if (node.localName === "img" || node.localName === "canvas") inside = pixelElements(state, node, style, box);
  else inside = drawChildren(state, node, style, decoration, cut ? cut.limit : limit);
  if (cut?.isClipped) inside = clipped(state, inside, box);
  Object.assign(state, { matrix, clip });
  const transform = own ? `matrix(${[own.a, own.b, own.c, own.d, own.e, own.f].map(rounded).join(" ")})` : "";
  return grouped(parts.below + inside + parts.above, {
    opacity: style.opacity === "1" ? "" : style.opacity,
    transform,
  });
}

/**
 * @param {State} state
 * @param {Element} node
 * @param {CSSStyleDeclaration} style
 * @param {string} inherited
 * @param {DOMRect | null} limit
 */
function drawChildren(state, node, style, inherited, limit) {
  const decoration = style.textDecorationLine === "none" ? inherited : style.textDecorationLine;
  const layers = [...(bodyOf(node) ?? node.shadowRoot ?? node).childNodes].map((child) => ({
    child,
    level: levelOf(child),
  }));
  const drawn = layers
    .sort((one, other) => one.level - other.level)
    .map(({ child }) => {
      if (child.nodeType === Node.ELEMENT_NODE)
        return drawElement(state, /** @type {Element} */ (child), decoration, limit);
      if (child.nodeType !== Node.TEXT_NODE || style.visibility !== "visible") return "";
      return textRuns(/** @type {Text} */ (child), style, limit)
        .map((run) => {
          grow(state, run.rect);
          return textElement(run, style, decoration);
        })
        .join("");
    });
  return drawn.join("");
}

/** The place of a node in the order in which its siblings are drawn. @param {Node} node */
function levelOf(node) {
  if (node.nodeType !== Node.ELEMENT_NODE) return 0;
  const { position, zIndex } = getComputedStyle(/** @type {Element} */ (node));
  const level = Number(zIndex) || 0;
  return position === "static" ? level : level || 0.5;
}

/**
 * How a box cuts off its contents: with an ellipsis, or at its edges; null if it does not.
 * @param {Element} node
 * @param {CSSStyleDeclaration} style
 * @param {DOMRect} box
 */
function cutOff(node, { overflow, textOverflow, writingMode, paddingRight, paddingBottom }, box) {
  const { scrollWidth, clientWidth, scrollHeight, clientHeight } = node;
  const [isWide, isHigh] = [scrollWidth > clientWidth, scrollHeight > clientHeight];
  if (!(isWide || isHigh) || !/hidden|clip/.test(overflow) || !clientWidth) return null;
  if (textOverflow === "ellipsis" && !(writingMode === "horizontal-tb" ? isWide : isHigh)) return null;
  const { left, top, width, height } = box;
  const limit = new DOMRect(left, top, width - parseFloat(paddingRight), height - parseFloat(paddingBottom));
  return textOverflow === "ellipsis" ? { limit, isClipped: false } : { limit: null, isClipped: true };
}
