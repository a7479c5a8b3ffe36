// @ts-check
// The parts of Figure 1 as elements of an SVG.

/** @import { Item } from "./figure1_parts.js" */
/** @import { Figure1Data, Figure1Maps, Figure1Option, Figure1Word, Kind, PerAxis, Span } from "./types" */

import { element, vector } from "./dom.js";
import { decimal } from "./numbers.js";
import { tr } from "./texts.js";
import { decodedWeights, paintWeights } from "./weights.js";

const FONT_SIZE = 13; // pixels, of tokens; the style sheet has the same
const CORNER = 7; // radius of the bends of lines
const TICK = 2.5; // pixels that a mark stands out of a map
const HEAD = 4; // half the width of an arrow's head
const BAR = { before: 34, most: 150 }; // pixels left of the middle where the bars of probabilities begin

/**
 * The picture of a head.
 * @param {Figure1Data} data
 * @param {Kind} kind
 * @param {number} layer
 * @param {number} head
 * @returns {string} Its address.
 */
export function headPicture(data, kind, layer, head) {
  const canvas = document.createElement("canvas");
  const { layers, columns } = data.maps[kind];
  paintWeights(canvas, decodedWeights(layers[layer][head]), columns, data.scale);
  return canvas.toDataURL();
}

/** A line with rounded bends, and the head of an arrow at its end. @param {Item} item */
export function path({ x, y, points = [], look = "", arrow }) {
  const at = points.map(([right, down]) => /** @type {const} */ ([x + right, y + down]));
  let d = `M${at[0].join(" ")}`;
  for (let index = 1; index < at.length - 1; index++) {
    const [before, here, after] = [at[index - 1], at[index], at[index + 1]];
    const [from, to] = [towards(here, before), towards(here, after)];
    d += `L${from.join(" ")}Q${here.join(" ")} ${to.join(" ")}`;
  }
  const end = at[at.length - 1];
  const group = vector("g", { class: `line ${look}` });
  group.append(vector("path", { d: `${d}L${end.join(" ")}` }));
  if (arrow) {
    const before = at[at.length - 2];
    const [right, down] = [Math.sign(end[0] - before[0]), Math.sign(end[1] - before[1])];
    const back = [end[0] - 6 * right, end[1] - 6 * down];
    const corners = [1, -1].map((side) => [back[0] + side * HEAD * down, back[1] + side * HEAD * right].join(" "));
    group.append(vector("path", { class: "arrow", d: `M${end.join(" ")}L${corners.join("L")}Z` }));
  }
  return group;
}

/**
 * The point where the bend at a corner begins.
 * @param {readonly [number, number]} corner
 * @param {readonly [number, number]} other
 */
function towards(corner, other) {
  const length = Math.hypot(other[0] - corner[0], other[1] - corner[1]);
  const share = Math.min(CORNER, length / 2) / (length || 1);
  return [corner[0] + (other[0] - corner[0]) * share, corner[1] + (other[1] - corner[1]) * share];
}

/** @param {Item} item */
export function box({ x, y, width = 0, height = 0, look = "", text = "", note = "" }) {
  const group = vector("g", { class: `box ${look}` });
  group.append(vector("rect", { x, y, width, height, rx: 5 }));
  const isBlock = look === "attention";
  const line = y + (isBlock ? 15 : height / 2 + 4.5);
  if (isBlock || note) {
    group.append(label(text, x + (isBlock ? 8 : 11), line, "start"), label(note, x + width - 10, line, "end", "note"));
  } else group.append(label(text, x + width / 2, line, "middle"));
  return group;
}

/** @param {string} text @param {number} x @param {number} y @param {string} anchor @param {string} [look] */
export function label(text, x, y, anchor, look = "label") {
  return vector("text", { x, y, "text-anchor": anchor, class: look }, text);
}

/** @param {Item} item */
export function circle({ x, y, width = 0, look = "" }) {
  const group = vector("g", { class: `mark ${look}` });
  const r = width / 2;
  group.append(vector("circle", { cx: x, cy: y, r }));
  const [a, b, c] = [0.6 * r, 0.52 * r, 0.72 * r];
  const marks = {
    plus: `M${x - a} ${y}H${x + a}M${x} ${y - a}V${y + a}`,
    wave: `M${x - c} ${y}Q${x - c / 2} ${y - 1.5 * c} ${x} ${y}T${x + c} ${y}`,
    table: `M${x - b} ${y - b}H${x + b}V${y + b}H${x - b}ZM${x - b} ${y}H${x + b}M${x} ${y - b}V${y + b}`,
  };
  group.append(vector("path", { d: marks[/** @type {keyof typeof marks} */ (look)] }));
  return group;
}

/**
 * A head. What is not of the chosen row or column can be dimmed, see `mark`.
 * @param {Item} item
 * @param {string} picture
 */
export function map({ x, y, width = 0 }, picture) {
  const group = vector("g", { class: "map" });
  const size = { x, y, width, height: width };
  group.append(vector("rect", { ...size, class: "under" }), vector("rect", { ...size, class: "masked" }));
  group.append(vector("image", { ...size, href: picture, preserveAspectRatio: "none" }));
  group.append(vector("path", { class: "dim" }), vector("rect", { ...size, class: "edge" }));
  group.append(vector("path", { class: "ticks" }));
  return group;
}

/**
 * Dim the visible weights of a map but for a row and a column, and mark both at its sides.
 * @param {Element} node
 * @param {Item} item
 * @param {number} row -1: none.
 * @param {number} column
 * @param {PerAxis<number>} length Rows and columns.
 * @param {Figure1Maps["visible"]} visible
 */
export function mark(node, { x, y, width = 0 }, row, column, length, visible) {
  const [down, across] = [width / length.query, width / length.key];
  const dims = visible.flatMap(([top, bottom, left, right]) =>
    without(top, bottom, row).flatMap(([above, below]) =>
      without(left, right, column).map(([from, to]) => {
        const start = x + from * across;
        return `M${start} ${y + above * down}H${x + to * across}V${y + below * down}H${start}Z`;
      }),
    ),
  );
  const ticks = row >= 0 ? `M${x - TICK} ${y + (row + 0.5) * down}H${x}` : "";
  const above = column >= 0 ? `M${x + (column + 0.5) * across} ${y - TICK}V${y}` : "";
  node.querySelector(".dim")?.setAttribute("d", ticks || above ? dims.join("") : "");
  node.querySelector(".ticks")?.setAttribute("d", ticks + above);
}

/** What is left of a span without an index. @param {number} start @param {number} stop @param {number} index */
function without(start, stop, index) {
  const sides = [[start, Math.min(index, stop)], [Math.max(index + 1, start), stop]]; // prettier-ignore
  return sides.filter(([from, to]) => from < to);
}

/** @param {Item} item @param {readonly Span[]} spans @param {string} look */
export function word({ x, y, width = 0, height = 0 }, spans, look) {
  const group = vector("g", { class: `word ${look}` });
  const text = vector("text", { x: x + width / 2, y: y + height / 2 + 4.5, "text-anchor": "middle" });
  text.append(...spelledOut(spans));
  group.append(vector("rect", { x, y, width, height, rx: 3 }), text);
  return group;
}

/** @param {readonly Span[]} spans */
function spelledOut(spans) {
  return spans.map(([text, style]) =>
    vector("tspan", { class: style }, style === "special" ? text.toUpperCase() : text),
  );
}

/**
 * One of the most probable next tokens, with its probability as a bar and as a number.
 * @param {Item} item
 * @param {Figure1Option | undefined} option
 */
export function option({ x, y, width = 0, height = 0 }, option) {
  const group = vector("g", { class: option?.predicted ? "option predicted" : "option" });
  group.append(vector("rect", { x, y, width, height, class: "under" }));
  if (!option) return group;
  const [start, line] = [x + width / 2 - BAR.before, y + height / 2 + 4.5];
  const text = vector("text", { x: start - 9, y: line, "text-anchor": "end", class: "token" });
  text.append(...spelledOut(option.spans));
  const most = Math.min(BAR.most, width / 2 - 24);
  const bar = { x: start, y: y + height / 2 - 4, height: 8, rx: 1.5 };
  group.append(text, vector("rect", { ...bar, width: most, class: "track" }));
  group.append(vector("rect", { ...bar, width: option.probability * most, class: "bar" }));
  group.append(label(decimal(option.probability, 2), start + most + 9, line, "start", "number"));
  return group;
}

/** @param {Item} item */
export function fold({ x, y, width = 0, height = 0, open, text = "" }) {
  const group = vector("g", { class: "fold", role: "button", "aria-expanded": String(Boolean(open)) });
  const [across, down] = [x + width / 2, y + height / 2];
  group.setAttribute("aria-label", tr("{layer}: all sub-layers", { layer: text }));
  const d = open
    ? `M${across - 4} ${down - 2}L${across} ${down + 2}L${across + 4} ${down - 2}`
    : `M${across - 2} ${down - 4}L${across + 2} ${down}L${across - 2} ${down + 4}`;
  group.append(vector("rect", { x, y, width, height, rx: 4 }), vector("path", { d }));
  return group;
}

/**
 * Width of a token in the font of the drawing.
 * @param {HTMLElement} root
 * @returns {(text: Pick<Figure1Word, "spans">) => number}
 */
export function measurer(root) {
  const context = /** @type {CanvasRenderingContext2D} */ (element("canvas").getContext("2d"));
  context.font = fontOf(root);
  return ({ spans }) =>
    spans.reduce((sum, [text, style]) => {
      const isSpecial = style === "special";
      return sum + context.measureText(isSpecial ? text.toUpperCase() : text).width * (isSpecial ? 0.98 : 1);
    }, 0);
}

/** @param {HTMLElement} root */
export function fontOf(root) {
  return `${FONT_SIZE}px ${getComputedStyle(root).fontFamily || "sans-serif"}`;
}

/** The pattern of cells that a query cannot attend to. */
export function hatching() {
  const definitions = vector("defs", {});
  const pattern = vector("pattern", { id: "figure1-masked", width: 4, height: 4, patternUnits: "userSpaceOnUse" });
  pattern.setAttribute("patternTransform", "rotate(45)");
  pattern.append(vector("path", { d: "M0 0V4", class: "hatch" }));
  definitions.append(pattern);
  return definitions;
}
