// @ts-check
// Vectors as rows of cells or bars, with numbers beside them.

/** @import { Span } from "../../../core/drawing/types" */

import { button, element, goTo, spelled, textOf, vector } from "../../../core/drawing/dom.js";
import { scrolling } from "../../../core/drawing/scrolling.js";
import { decimal } from "../../../core/drawing/numbers.js";
import { tr } from "../../../core/drawing/texts.js";
import { paintWeights } from "../../../core/drawing/weights.js";

/**
 * @typedef {object} Column
 * @property {string} title
 * @property {"signed" | "positive" | "share"} scale
 * @property {number} digits
 * @property {number} limit Of its bars.
 *
 * @typedef {object} Row
 * @property {Span[]} label
 * @property {(number | null)[]} values null: hidden.
 * @property {(number | null)[]} numbers
 * @property {string} note
 * @property {boolean} marked
 * @property {boolean} bars
 * @property {number} limit
 *
 * @typedef {object} Block See `Block` in step_views.py.
 * @property {string} title
 * @property {number} width Cells of a line.
 * @property {number} limit
 * @property {boolean} legend
 * @property {string[]} names Of the cells.
 * @property {Column[]} columns
 * @property {Row[]} rows
 */

const DIGITS = 3;
const CELL = { least: 0.45, most: 0.9, line: 34 }; // em

/**
 * @param {Block} block
 * @param {readonly string[]} scale Colours from -1 to 1.
 * @param {{ index: number, pick: (row: number) => void } | null} picked Rows are buttons, one of them is pressed.
 */
export function drawnBlock(block, scale, picked) {
  const node = element("div", "block");
  const title = element("div", "title");
  const readout = element("span", "readout");
  readout.setAttribute("role", "status");
  const name = picked ? tr("{title}: select a row to see its products", { title: block.title }) : block.title;
  title.append(element("span", "name", name));
  if (block.legend) title.append(legend(block.limit, scale));
  title.append(readout);
  const rows = element("div", "rows");
  const hasValues = block.rows.some(({ values }) => values.length);
  rows.style.gridTemplateColumns = `${hasValues ? "var(--label) minmax(0, max-content)" : "max-content"} repeat(${block.columns.length + 1}, max-content)`;
  rows.classList.toggle("dense", block.columns.length > 4);
  if (block.columns.length) rows.append(headings(block, hasValues));
  const lines = block.rows.map((row, index) => {
    const line = picked ? button("row", index === picked.index) : element("div", "row");
    line.classList.toggle("marked", row.marked);
    line.append(label(row));
    if (hasValues) line.append(strip(row, block, scale, (text) => (readout.textContent = text)));
    line.append(
      ...block.columns.map((column, at) => numberNode(row.numbers[at], column)),
      element("span", "note", row.note),
    );
    if (picked) {
      line.dataset.role = "row";
      line.setAttribute("aria-pressed", String(index === picked.index));
      line.onclick = () => picked.pick(index);
    }
    return line;
  });
  if (picked) rows.onkeydown = (event) => movePick(lines, event);
  rows.append(...lines);
  scrolling(rows);
  node.append(title, rows);
  return node;
}

/** The same as a table of numbers. @param {Block} block */
export function numbersTable(block) {
  const table = element("table");
  for (const { label, values, numbers } of block.rows) {
    const cells = [...values, ...numbers];
    for (let start = 0; start < cells.length; start += block.width) {
      const line = element("tr");
      line.append(element("th", "", start ? "" : textOf(label)));
      line.append(
        ...cells
          .slice(start, start + block.width)
          .map((value) => element("td", "", value === null ? tr("hidden") : decimal(value, DIGITS))),
      );
      table.append(line);
    }
  }
  const box = element("div", "as-table");
  box.append(element("div", "title", block.title), table);
  scrolling(box);
  return box;
}

/** @param {Block} block @param {boolean} hasValues */
function headings(block, hasValues) {
  const line = element("div", "row headings");
  line.append(element("span"), ...(hasValues ? [element("span")] : []));
  line.append(...block.columns.map(({ title }) => element("span", "", title)), element("span"));
  return line;
}

/** @param {Row} row */
function label({ label }) {
  const node = element("span", "label");
  node.append(...spelled(label));
  node.title = textOf(label);
  return node;
}

/**
 * @param {Row} row
 * @param {Block} block
 * @param {readonly string[]} scale
 * @param {(text: string) => void} read Called with the number that is pointed at.
 */
function strip(row, block, scale, read) {
  const { values } = row;
  const known = values.filter((value) => value !== null);
  const node = element("span", "strip");
  if (!values.length) return node;
  const cell = Math.min(CELL.most, Math.max(CELL.least, CELL.line / block.width));
  const lines = Math.ceil(values.length / block.width);
  node.style.width = `${cell * block.width}em`;
  node.style.height = row.bars ? "3.6em" : `${Math.min(cell, 0.95) * lines}em`;
  node.setAttribute("role", "img");
  const facts = {
    row: textOf(row.label),
    low: decimal(Math.min(...known), DIGITS),
    high: decimal(Math.max(...known), DIGITS),
  };
  const name = known.length
    ? tr("{row}: {count} numbers, from {low} to {high}", { ...facts, count: values.length })
    : tr("{row}: {count} numbers", { ...facts, count: values.length });
  node.setAttribute("aria-label", name);
  if (known.length < values.length) node.classList.add("hatched");
  node.append(row.bars ? bars(row, scale) : cells(row, block.width, scale));
  node.onpointerdown = node.onpointermove = (event) => {
    const { left, top, width, height } = node.getBoundingClientRect();
    const column = Math.floor((block.width * (event.clientX - left)) / width);
    const line = row.bars ? 0 : Math.floor((lines * (event.clientY - top)) / height);
    const index = line * block.width + column;
    const value = values[index];
    if (column < 0 || column >= block.width || value === undefined) return read("");
    const text = value === null ? tr("hidden") : decimal(value, DIGITS);
    read(`${textOf(row.label)}, ${block.names[index] ?? index + 1}: ${text}`);
  };
  node.onpointerleave = (event) => event.pointerType === "touch" || read(""); // what was tapped stays
  return node;
}

/** @param {Row} row @param {number} width @param {readonly string[]} scale */
function cells({ values, limit }, width, scale) {
  const canvas = element("canvas");
  const padded = new Float32Array(Math.ceil(values.length / width) * width).fill(NaN);
  values.forEach((value, index) => (padded[index] = value === null ? NaN : value / limit));
  paintWeights(canvas, padded, width, scale, -1);
  return canvas;
}

/** @param {Row} row @param {readonly string[]} scale */
function bars({ values, limit }, scale) {
  const picture = vector("svg", { viewBox: `0 -1 ${values.length} 2`, preserveAspectRatio: "none" });
  picture.append(vector("path", { class: "zero", d: `M0 0H${values.length}` }));
  for (const sign of [-1, 1]) {
    const d = values.map((value, index) =>
      value && value * sign > 0 ? `M${index + 0.1} 0V${-value / limit}H${index + 0.9}V0Z` : "",
    );
    picture.append(vector("path", { d: d.join(""), fill: scale[sign < 0 ? 0 : scale.length - 1] }));
  }
  return picture;
}

/** @param {number | null | undefined} value @param {Column} column */
function numberNode(value, { scale, digits, limit }) {
  const node = element("span", `number ${scale}`);
  if (value === null || value === undefined) {
    node.append(element("span", "digits", value === null ? tr("hidden") : ""));
    return node;
  }
  const bar = element("i", value < 0 ? "bar negative" : "bar");
  bar.style.setProperty("--share", String(Math.min(1, Math.abs(value) / limit)));
  const track = element("span", "track");
  track.append(bar);
  node.append(element("span", "digits", decimal(value, digits)), track);
  return node;
}

/** @param {number} limit @param {readonly string[]} scale */
function legend(limit, scale) {
  const node = element("span", "legend");
  const bar = element("i");
  bar.style.background = `linear-gradient(to right, ${scale.join(", ")})`;
  const digits = limit < 1 ? 2 : 1;
  node.append(element("span", "", decimal(-limit, digits)), bar, element("span", "", `+${decimal(limit, digits)}`));
  return node;
}

/** @param {HTMLElement[]} lines @param {KeyboardEvent} event */
function movePick(lines, event) {
  const index = lines.findIndex((line) => line === event.target);
  const goal = lines[index + ({ ArrowDown: 1, ArrowUp: -1 }[event.key] ?? NaN)];
  if (index < 0 || !goal) return;
  event.preventDefault();
  event.stopPropagation();
  goTo(goal, lines);
  goal.click();
}
