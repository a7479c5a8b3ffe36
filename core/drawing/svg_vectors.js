// @ts-check
// An SVG of a page, such as a chart, as elements of the SVG of a picture: each with its own style and place.

/** @import { State } from "./svg_boxes.js" */

import { cellElements, clipped, common, grouped, grow } from "./svg_boxes.js";
import { gradientPaths, moved, paint, rounded } from "./svg_paint.js";
import { textAt } from "./svg_text.js";

const GROUPS = ["svg", "g", "a"];
const SHAPES = ["path", "rect", "circle", "ellipse", "line", "polyline", "polygon"];

/**
 * @param {State} state
 * @param {SVGElement} node
 * @param {number} [opacity] Of the groups that it is in.
 * @returns {string}
 */
export function vectorElements(state, node, opacity = 1) {
  const style = getComputedStyle(node);
  const own = opacity * Number(style.opacity);
  if (style.display === "none" || !own || node.matches(".hoverlayer")) return "";
  const area = clipArea(node, style);
  const { clip } = state;
  if (area) state.clip = common(clip, area);
  let drawn = "";
  if (GROUPS.includes(node.localName)) {
    drawn = [...node.children].map((child) => vectorElements(state, /** @type {SVGElement} */ (child), own)).join("");
  } else if (style.visibility === "visible") {
    const graphic = /** @type {SVGGraphicsElement} */ (node);
    if (SHAPES.includes(node.localName)) drawn = shape(state, graphic, style, own);
    else if (node.localName === "image") drawn = image(state, graphic, own);
    else if (node.localName === "text") drawn = texts(state, /** @type {SVGTextElement} */ (node), own);
  }
  state.clip = clip;
  return area && drawn ? clipped(state, drawn, area) : drawn;
}

/** What is visible of an element; null: all of it. @param {SVGElement} node @param {CSSStyleDeclaration} style */
function clipArea(node, style) {
  if (node.localName === "svg") {
    const box = node.getBoundingClientRect();
    return style.overflow === "visible" || isWithin(/** @type {SVGSVGElement} */ (node), box) ? null : box;
  }
  const [, id] = /^url\("?#([^"]+)"?\)$/.exec(style.clipPath) ?? [];
  const root = /** @type {Document | ShadowRoot} */ (node.getRootNode());
  const rect = id && root.getElementById(id)?.querySelector("rect");
  if (!rect) return null;
  const { x, y, width, height } = rect;
  const [left, top, w, h] = [x, y, width, height].map((each) => each.baseVal.value);
  return moved({ left, top, width: w, height: h }, matrixOf(/** @type {SVGGraphicsElement} */ (node)));
}

/** Whether all that an SVG draws is in its box. @param {SVGSVGElement} svg @param {DOMRect} box */
function isWithin(svg, { left, top, width, height }) {
  const { x, y, width: w, height: h } = svg.getBBox();
  const drawn = moved({ left: x, top: y, width: w, height: h }, matrixOf(svg));
  const [right, bottom] = [drawn.left + drawn.width, drawn.top + drawn.height];
  return drawn.left > left - 1 && drawn.top > top - 1 && right < left + width + 1 && bottom < top + height + 1;
}

/** @param {SVGGraphicsElement} node */
function matrixOf(node) {
  return DOMMatrix.fromMatrix(node.getScreenCTM() ?? undefined);
}

/** @param {DOMMatrix} matrix @returns {string} */
function written({ a, b, c, d, e, f }) {
  if (a === 1 && !b && !c && d === 1) return e || f ? ` transform="translate(${rounded(e)} ${rounded(f)})"` : "";
  return ` transform="matrix(${[a, b, c, d, e, f].map(rounded).join(" ")})"`;
}

/** @param {State} state @param {SVGGraphicsElement} node @param {CSSStyleDeclaration} style @param {number} opacity */
function shape(state, node, style, opacity) {
  const area = node.getBoundingClientRect();
  if (style.fill.startsWith("url(")) return hatched(state, node, style, area, opacity);
  const fill = paint("fill", style.fill, opacity * Number(style.fillOpacity));
  const width = parseFloat(style.strokeWidth);
  const stroke = width ? paint("stroke", style.stroke, opacity * Number(style.strokeOpacity)) : null;
  if (!fill && !stroke) return "";
  grow(state, area);
  const dash = style.strokeDasharray === "none" ? "" : style.strokeDasharray.replaceAll("px", "");
  const lines = { "stroke-width": width === 1 ? "" : String(width), "stroke-dasharray": dash };
  const ends = { "stroke-linecap": style.strokeLinecap, "stroke-linejoin": style.strokeLinejoin };
  const attributes = { ...(stroke ? { ...lines, ...ends } : {}), "fill-rule": fill ? style.fillRule : "" };
  const look = Object.entries(attributes)
    .filter(([, value]) => value && !["butt", "miter", "nonzero"].includes(value))
    .map(([name, value]) => ` ${name}="${value}"`);
  const matrix = matrixOf(node);
  const isPlain = style.vectorEffect !== "non-scaling-stroke";
  const colors = `${fill ?? ' fill="none"'}${stroke ?? ""}${look.join("")}`;
  return `<${outline(node, isPlain ? null : matrix)}${isPlain ? written(matrix) : ""}${colors}/>`;
}

/**
 * Name and geometry of an element.
 * @param {SVGGraphicsElement} node
 * @param {DOMMatrix | null} matrix To be applied to a path of absolute points.
 */
function outline(node, matrix) {
  const number = (/** @type {string} */ name) => {
    const value = /** @type {Record<string, SVGAnimatedLength | undefined>} */ (/** @type {unknown} */ (node))[name];
    return value ? ` ${name}="${rounded(value.baseVal.value)}"` : "";
  };
  const names = {
    rect: ["x", "y", "width", "height", "rx"],
    circle: ["cx", "cy", "r"],
    ellipse: ["cx", "cy", "rx", "ry"],
  };
  const own = names[/** @type {keyof typeof names} */ (node.localName)];
  if (own) return `${node.localName}${own.map(number).join("")}`;
  const points = node.getAttribute("points");
  let d = node.getAttribute("d") ?? "";
  if (node.localName === "line") {
    const [x1, y1, x2, y2] = ["x1", "y1", "x2", "y2"].map((name) => node.getAttribute(name) ?? 0);
    d = `M${x1} ${y1}L${x2} ${y2}`;
  } else if (points) d = `M${points}${node.localName === "polygon" ? "Z" : ""}`;
  if (matrix) {
    d = d.replace(/(-?[\d.]+(?:e-?\d+)?)[ ,]+(-?[\d.]+(?:e-?\d+)?)/g, (_, x, y) => {
      const at = new DOMPoint(Number(x), Number(y)).matrixTransform(matrix);
      return `${rounded(at.x)} ${rounded(at.y)}`;
    });
  }
  return `path d="${d}"`;
}

/**
 * A shape filled with a pattern, of which there is one: stripes.
 * @param {State} state
 * @param {SVGGraphicsElement} node
 * @param {CSSStyleDeclaration} style
 * @param {DOMRect} area
 * @param {number} opacity
 */
function hatched(state, node, style, area, opacity) {
  const [, id = ""] = /^url\("?#([^"]+)"?\)/.exec(style.fill) ?? [];
  const pattern = /** @type {ShadowRoot} */ (node.getRootNode()).getElementById(id);
  const line = pattern?.querySelector("path");
  if (!line) return "";
  grow(state, area);
  const { stroke } = getComputedStyle(line);
  const pitch = Number(pattern?.getAttribute("width"));
  const stripes = `repeating-linear-gradient(135deg, transparent 0px, transparent ${pitch - 1}px, ${stroke} ${pitch - 1}px, ${stroke} ${pitch}px)`; // prettier-ignore
  return [...gradientPaths(stripes, area)]
    .map(([color, d]) => `<path d="${d}"${paint("fill", color, opacity)}/>`)
    .join("");
}

/** @param {State} state @param {SVGGraphicsElement} node @param {number} opacity */
function image(state, node, opacity) {
  const found = state.images.get(node.getAttribute("href") ?? "");
  const area = node.getBoundingClientRect();
  if (!found || !area.width || !area.height) return "";
  grow(state, area);
  const content = cellElements(found, area);
  return grouped(content, { opacity: opacity < 1 ? String(opacity) : "" });
}

/**
 * The texts of an element, each part in its own style and at its own place.
 * @param {State} state
 * @param {SVGTextElement} node
 * @param {number} opacity
 */
function texts(state, node, opacity) {
  const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
  const place = written(matrixOf(node)).trim();
  const count = node.getNumberOfChars();
  let [at, drawn] = [0, ""];
  if (node.textContent?.trim()) grow(state, node.getBoundingClientRect());
  for (let part = walker.nextNode(); part && at < count; part = walker.nextNode()) {
    const parent = /** @type {Element} */ (part.parentElement);
    const [text, style] = [part.textContent ?? "", getComputedStyle(parent)];
    const length = Math.min(text.length, count - at);
    if (!length) continue;
    const { x, y } = node.getStartPositionOfChar(at);
    const width = node.getSubStringLength(at, length);
    at += length;
    const fill = paint("fill", style.fill, opacity * Number(style.fillOpacity));
    const halo = style.stroke === "none" ? null : paint("stroke", style.stroke, opacity);
    const look = halo && ` paint-order="stroke"${halo} stroke-width="${parseFloat(style.strokeWidth)}"`;
    drawn += textAt(text, x, y, width, style, fill && `${fill}${look ?? ""}`, place);
  }
  return drawn;
}
