// @ts-check
// Parallel coordinates. Dragging along an axis, or moving one of its two handles, selects a range.

/** @import { Dash } from "../../../core/drawing/types" */
/** @import { Component } from "../../components/streamlit" */

import { DASHES, element, stroke, vector } from "../../../core/drawing/dom.js";
import { scrolling } from "../../../core/drawing/scrolling.js";
import { decimal } from "../../../core/drawing/numbers.js";
import { tr } from "../../../core/drawing/texts.js";
import { component } from "../../components/renderer.js";

/**
 * @typedef {{ key: string, name: string, text: string, low: number, high: number, range: [number, number] | null }} Axis
 * @typedef {{ name: string, values: (number | null)[], group: number, faint: boolean }} Line
 *
 * @typedef {object} Data See `head_coordinates`.
 * @property {Axis[]} axes
 * @property {Line[]} lines
 * @property {{ name: string, color: string, dash: Dash }[]} groups
 * @property {number | null} marked
 * @property {string} name
 */

const TOP = 50; // pixels above the axes, for their names
const HEIGHT = 220; // of the axes
const BOTTOM = 24;
const SIDE = 44; // left and right of the outermost axes
const PITCH = 70; // least distance of two axes: twelve fit a window of 1280, and no word of a name is wider
const NAME = 70; // for the name of the marked line
const STEP = 0.01; // of an axis, for an arrow key

export default component((/** @type {Component<Data>} */ { data, root, focused, setTriggerValue }) => {
  const scrolled = root.querySelector(".scroll")?.scrollLeft ?? 0;
  const gaps = Math.max(1, data.axes.length - 1);
  const width = Math.max(2 * SIDE + NAME + PITCH * gaps, root.clientWidth || 0);
  const pitch = (width - 2 * SIDE - NAME) / gaps;
  const x = (/** @type {number} */ column) => SIDE + pitch * column;
  const y = (/** @type {Axis} */ axis, /** @type {number} */ value) =>
    TOP + HEIGHT * (1 - (value - axis.low) / (axis.high - axis.low || 1));
  const height = TOP + HEIGHT + BOTTOM;
  const drawing = vector("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group" });
  drawing.setAttribute("aria-label", data.name);
  const label = vector("text", { class: "label" });
  const lines = data.lines.map((line, number) => {
    const places = line.values.map((value, column) =>
      value === null ? null : [x(column), y(data.axes[column], value)],
    );
    const d = places.map((place, column) => (place ? `${places[column - 1] ? "L" : "M"}${place}` : "")).join("");
    const { color, dash } = data.groups[line.group];
    const style = `line${line.faint ? " faint" : ""}${number === data.marked ? " marked" : ""}`;
    const path = stroke({ d, class: style, "stroke-dasharray": DASHES[dash] }, number === data.marked ? "" : color);
    path.append(vector("title", {}));
    path.firstElementChild?.append(line.name);
    path.addEventListener("click", () => setTriggerValue("line", number));
    path.addEventListener("pointerenter", () => named(number));
    path.addEventListener("pointerleave", () => named(data.marked));
    return path;
  });
  const named = (/** @type {number | null} */ number) => {
    const values = number === null ? [] : data.lines[number].values;
    const last = values.findLastIndex((value) => value !== null);
    label.textContent = number === null ? "" : data.lines[number].name;
    if (last < 0) return;
    label.setAttribute("x", String(x(last) + 8));
    label.setAttribute("y", String(y(data.axes[last], values[last] ?? 0) + 4));
  };
  const order = [...lines.keys()].sort((a, b) => rank(a) - rank(b));
  function rank(/** @type {number} */ number) {
    return number === data.marked ? 2 : data.lines[number].faint ? 0 : 1;
  }
  const axes = data.axes.map((axis, column) => axisNode(axis, x(column), (value) => y(axis, value), send));
  function send(/** @type {Axis} */ axis, /** @type {number} */ low, /** @type {number} */ high) {
    setTriggerValue("range", { axis: axis.key, low, high });
  }
  drawing.append(...axes.map(({ under }) => under), ...order.map((number) => lines[number]), label);
  drawing.append(...axes.map(({ over }) => over));
  named(data.marked);
  const box = element("div", "scroll");
  box.append(drawing);
  scrolling(box);
  root.replaceChildren(legend(data.groups), box);
  box.scrollLeft = scrolled;
  if (focused?.handle)
    drawing.querySelector(`[data-handle="${CSS.escape(focused.handle)}"]`)?.dispatchEvent(new Event("refocus"));
});

/**
 * @param {Axis} axis
 * @param {number} x
 * @param {(value: number) => number} y
 * @param {(axis: Axis, low: number, high: number) => void} send
 */
function axisNode(axis, x, y, send) {
  const under = vector("g", {});
  const over = vector("g", {});
  let [low, high] = axis.range ?? [axis.low, axis.high];
  const size = axis.high - axis.low || 1;
  const range = vector("rect", { class: "range", x: x - 7, width: 14 });
  const handles = [
    handleNode(axis, "lowest", tr("{axis}, lowest", { axis: axis.name })),
    handleNode(axis, "highest", tr("{axis}, highest", { axis: axis.name })),
  ];
  const place = () => {
    const isSet = low > axis.low || high < axis.high;
    range.setAttribute("y", String(y(high)));
    range.setAttribute("height", String(isSet ? y(low) - y(high) : 0));
    handles.forEach((handle, end) => {
      const value = end ? high : low;
      const at = y(value);
      handle.setAttribute("d", end ? `M${x - 7} ${at - 9}h14l-7 9z` : `M${x - 7} ${at + 9}h14l-7 -9z`);
      handle.classList.toggle("set", end ? high < axis.high : low > axis.low);
      handle.setAttribute("aria-valuenow", value.toFixed(2));
    });
  };
  const valueAt = (/** @type {PointerEvent} */ event) => {
    const box = under.ownerSVGElement?.getBoundingClientRect();
    const share = 1 - (event.clientY - (box?.top ?? 0) - TOP) / HEIGHT;
    return axis.low + size * Math.min(1, Math.max(0, share));
  };
  /** Follow the pointer until it is released. */
  const follow = (/** @type {Element} */ node, /** @type {(event: PointerEvent, first: number) => void} */ move) =>
    node.addEventListener("pointerdown", (event) => {
      const pointer = /** @type {PointerEvent} */ (event);
      const first = valueAt(pointer);
      pointer.preventDefault();
      node.setPointerCapture(pointer.pointerId);
      const moved = (/** @type {Event} */ each) => (move(/** @type {PointerEvent} */ (each), first), place());
      node.addEventListener("pointermove", moved);
      node.addEventListener(
        "pointerup",
        () => {
          node.removeEventListener("pointermove", moved);
          if (high - low < STEP * size) [low, high] = [axis.low, axis.high]; // a click: the whole axis again
          place();
          send(axis, low, high);
        },
        { once: true },
      );
    });
  const area = vector("rect", { class: "area", x: x - 12, y: TOP, width: 24, height: HEIGHT });
  follow(area, (event, first) => ([low, high] = [first, valueAt(event)].sort((a, b) => a - b)));
  handles.forEach((handle, end) => {
    follow(handle, (event) => setEnd(end, valueAt(event)));
    handle.addEventListener("keydown", (event) => {
      const { key } = /** @type {KeyboardEvent} */ (event);
      const value = end ? high : low;
      /** @type {Record<string, number>} */
      const goals = { ArrowUp: value + STEP * size, ArrowDown: value - STEP * size, Home: axis.low, End: axis.high };
      goals.PageUp = value + 10 * STEP * size;
      goals.PageDown = value - 10 * STEP * size;
      if (key === "Escape") [low, high] = [axis.low, axis.high];
      else if (key in goals) setEnd(end, goals[key]);
      else return;
      event.preventDefault();
      place();
      send(axis, low, high);
    });
    handle.addEventListener("refocus", () => handle.focus());
  });
  const setEnd = (/** @type {number} */ end, /** @type {number} */ value) => {
    if (end) high = Math.min(axis.high, Math.max(low, value));
    else low = Math.max(axis.low, Math.min(high, value));
  };
  place();
  const [first, ...rest] = axis.name.split(" ");
  const title = vector("text", { class: "title", x, y: rest.length ? 10 : 22 });
  title.append(tspan(first, x, 0), ...(rest.length ? [tspan(rest.join(" "), x, 13)] : []));
  const about = vector("title", {});
  about.append(axis.text);
  title.append(about);
  const end = (/** @type {number} */ value, /** @type {number} */ at) => {
    const text = vector("text", { class: "end", x, y: at });
    text.append(decimal(value, 2));
    return text;
  };
  under.append(area, vector("path", { class: "axis", d: `M${x} ${TOP}V${TOP + HEIGHT}` }), range, title);
  under.append(end(axis.high, TOP - 11), end(axis.low, TOP + HEIGHT + 21));
  over.append(...handles);
  return { under, over };
}

/** @param {Axis} axis @param {string} end @param {string} name */
function handleNode(axis, end, name) {
  return vector("path", {
    class: "handle",
    role: "slider",
    tabindex: 0,
    "data-handle": `${axis.key} ${end}`,
    "aria-label": name,
    "aria-orientation": "vertical",
    "aria-valuemin": axis.low,
    "aria-valuemax": axis.high,
  });
}

/** @param {string} text @param {number} x @param {number} dy */
function tspan(text, x, dy) {
  const node = vector("tspan", { x, dy });
  node.append(text);
  return node;
}

/** @param {Data["groups"]} groups */
function legend(groups) {
  const row = element("div", "legend");
  for (const { name, color, dash } of groups) {
    const entry = element("span", "");
    const sample = vector("svg", { viewBox: "0 0 24 6", "aria-hidden": "true" });
    sample.append(stroke({ d: "M0 3H24", "stroke-dasharray": DASHES[dash] }, color));
    entry.append(sample, name);
    row.append(entry);
  }
  return row;
}
