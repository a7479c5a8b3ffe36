// Draws the explanation beside it. Whatever stands in its texts is set as text, never as HTML; nothing is fetched.

const data = JSON.parse(document.getElementById("data").textContent);
const SVG = "http://www.w3.org/2000/svg";
const STEPS = 65535; // a stored weight of 1
const FAINTEST = 0.02; // lines below are not drawn: they are not seen, and there are many
const ROW = 22; // pixels of a word beside the lines
const VIEWS = ["Lines", "Map", "Table"];

const view = { kind: 0, layer: 0, head: 0, view: data.view };
const places = {};

for (const kind of data.kinds) {
  const bytes = Uint8Array.from(atob(kind.weights), (character) => character.charCodeAt(0));
  const numbers = new DataView(bytes.buffer);
  kind.weights = Float32Array.from({ length: bytes.length / 2 }, (_, index) => numbers.getUint16(2 * index, true) / STEPS);
  [kind.layers, kind.heads, kind.rows, kind.columns] = kind.shape;
}

// --- the page -------------------------------------------------------------------------------------------------------

function build() {
  const page = document.getElementById("page");
  const title = element("h1", "", []);
  title.append(isolated(data.source), element("span", "arrow", "\u2192"), isolated(data.target));
  const hint = "Attention shows where a head looked, not why the model said what it said. Layers and heads are counted from 1.";
  const controls = element("div", "controls");
  controls.append(choice("Attention", data.kinds.map(({ name }) => name), () => view.kind, (kind) => select({ kind })));
  controls.append(choice("View", VIEWS, () => VIEWS.indexOf(view.view), (index) => select({ view: VIEWS[index] })));
  const both = element("div", "both");
  const overview = element("section", "overview");
  const detail = element("section", "detail");
  places.text = element("p", "");
  places.grid = element("div", "grid");
  places.grid.setAttribute("role", "group");
  places.grid.setAttribute("aria-label", "Heads");
  places.grid.onkeydown = walk;
  places.name = element("p", "");
  places.status = element("div", "status");
  places.status.setAttribute("role", "status");
  places.picture = element("div", "scroll");
  overview.append(places.text, places.grid, scale());
  detail.append(places.name, places.status, places.picture);
  both.append(overview, detail);
  page.append(title, element("p", "faint", hint), controls, both, tokens(), facts());
}

function choice(name, labels, current, choose) {
  const group = element("div", "choice");
  group.setAttribute("role", "group");
  group.setAttribute("aria-label", name);
  const buttons = labels.map((label, index) => {
    const button = element("button", "", label);
    button.type = "button";
    button.onclick = () => choose(index);
    return button;
  });
  group.append(...buttons);
  (places.choices ??= []).push(() => buttons.forEach((button, index) => button.setAttribute("aria-pressed", index === current())));
  return group;
}

function scale() {
  const bar = element("div", "bar");
  places.scale = element("canvas");
  Object.assign(places.scale, { width: 180, height: 1 });
  bar.append(element("span", "number", "0"), places.scale, element("span", "number", "1"));
  return bar;
}

function tokens() {
  const section = element("section");
  const table = element("table");
  table.append(row("th", ["", "token", "log-prob", "probability", "most probable, with their probability"], [0, 2, 3]));
  data.predicted.forEach(({ label, logProb, others }, index) => {
    const line = row("td", [index + 1, "", logProb.toFixed(3), Math.exp(logProb).toFixed(3), ""], [0, 2, 3]);
    line.children[1].append(named(label));
    const track = element("span", "chance");
    const filled = element("i");
    filled.style.width = `${100 * Math.exp(logProb)}%`;
    track.append(filled);
    line.children[3].append(track);
    others.forEach(([text, value], place) => line.children[4].append(place ? ", " : "", isolated(text), ` ${Math.exp(value).toFixed(2)}`));
    table.append(line);
  });
  section.append(element("h2", "", "Translation, token by token"), table);
  return section;
}

function facts() {
  const details = element("details");
  const table = element("table");
  for (const [name, value] of data.facts) table.append(row("td", [name, value], []));
  details.append(element("summary", "", "Model, settings and versions"), table);
  return details;
}

// --- what is selected -----------------------------------------------------------------------------------------------

function select(change) {
  Object.assign(view, change);
  const kind = data.kinds[view.kind];
  view.layer = Math.min(view.layer, kind.layers - 1);
  view.head = Math.min(view.head, kind.heads - 1);
  if ("kind" in change) overview(kind);
  for (const cell of places.grid.querySelectorAll(".cell")) {
    const on = Number(cell.dataset.layer) === view.layer && Number(cell.dataset.head) === view.head;
    cell.setAttribute("aria-pressed", on);
    cell.tabIndex = on ? 0 : -1; // Tab reaches the grid, arrow keys its heads
  }
  places.choices.forEach((mark) => mark());
  const name = `${kind.name} attention, ${headName(view.layer, view.head)}`;
  places.name.replaceChildren(element("b", "", name));
  tell();
  places.picture.replaceChildren({ Lines: lines, Map: map, Table: matrix }[view.view](kind));
  history.replaceState(null, "", `#${kind.kind},${view.layer},${view.head},${view.view}`);
}

// The address names a head, counted from 0, so that a link to this file can open it there.
function recall() {
  const [name, layer, head, shown] = decodeURIComponent(location.hash.slice(1)).split(",");
  const asked = data.kinds.findIndex(({ kind }) => kind === name);
  const [firstKind, firstLayer, firstHead] = data.first;
  const known = asked >= 0 && [layer, head].every((number) => /^\d+$/.test(number ?? ""));
  const kind = known ? asked : data.kinds.findIndex(({ kind }) => kind === firstKind);
  select({
    kind,
    layer: Math.min(known ? Number(layer) : firstLayer, data.kinds[kind].layers - 1),
    head: Math.min(known ? Number(head) : firstHead, data.kinds[kind].heads - 1),
    view: VIEWS.includes(shown) ? shown : view.view,
  });
}

function weight(kind, row, column) {
  return kind.weights[((view.layer * kind.heads + view.head) * kind.rows + row) * kind.columns + column];
}

function headName(layer, head) {
  return `L${layer + 1} H${head + 1}`;
}

// --- all heads ------------------------------------------------------------------------------------------------------

function overview(kind) {
  places.text.replaceChildren(element("b", "", `${kind.name} attention`), `: ${kind.text}`);
  places.grid.style.gridTemplateColumns = `2.2em repeat(${kind.heads}, minmax(0, 1fr))`;
  const cells = [element("span")];
  for (let head = 0; head < kind.heads; head++) cells.push(element("span", "name", `H${head + 1}`));
  for (let layer = 0; layer < kind.layers; layer++) {
    cells.push(element("span", "name", `L${layer + 1}`));
    for (let head = 0; head < kind.heads; head++) cells.push(cell(kind, layer, head));
  }
  places.grid.replaceChildren(...cells);
}

function cell(kind, layer, head) {
  const button = element("button", "cell");
  button.type = "button";
  button.setAttribute("aria-label", headName(layer, head));
  button.title = headName(layer, head);
  Object.assign(button.dataset, { layer, head });
  button.onclick = () => select({ layer, head });
  const canvas = element("canvas");
  const start = (layer * kind.heads + head) * kind.rows * kind.columns;
  paint(canvas, kind.columns, kind.rows, (index) => kind.weights[start + index]);
  button.append(canvas);
  return button;
}

function walk(event) {
  const [down, right] = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[event.key] ?? [0, 0];
  const { layer, head } = event.target.dataset;
  if (layer === undefined || (!down && !right)) return;
  event.preventDefault();
  places.grid.querySelector(`[data-layer="${Number(layer) + down}"][data-head="${Number(head) + right}"]`)?.focus();
}

function paint(canvas, width, height, value) {
  Object.assign(canvas, { width, height });
  const context = canvas.getContext("2d");
  const image = context.createImageData(width, height);
  for (let index = 0; index < width * height; index++) image.data.set(color(value(index)), 4 * index);
  context.putImageData(image, 0, 0);
}

function color(value) {
  const place = Math.min(Math.max(value, 0), 1) * (places.ramp.length - 1);
  const index = Math.min(Math.floor(place), places.ramp.length - 2);
  const [from, to] = [places.ramp[index], places.ramp[index + 1]];
  return [0, 1, 2].map((channel) => Math.round(from[channel] + (to[channel] - from[channel]) * (place - index))).concat(255);
}

function readRamp() {
  const text = getComputedStyle(document.documentElement).getPropertyValue("--ramp");
  places.ramp = text.split(",").map((hex) => [1, 3, 5].map((start) => parseInt(hex.trim().slice(start, start + 2), 16)));
  paint(places.scale, 180, 1, (index) => index / 179);
}

// --- one head -------------------------------------------------------------------------------------------------------

function lines(kind) {
  const box = element("div", "lines");
  const height = ROW * Math.max(kind.rows, kind.columns);
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 100 ${height}`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("aria-hidden", "true");
  svg.style.height = `${height}px`;
  const drawn = [];
  for (let row = 0; row < kind.rows; row++) {
    for (let column = 0; column < kind.columns; column++) {
      const value = weight(kind, row, column);
      if (value < FAINTEST) continue;
      const line = document.createElementNS(SVG, "line");
      const ends = { x1: 0, x2: 100, y1: (row + 0.5) * ROW, y2: (column + 0.5) * ROW, "stroke-opacity": value };
      for (const [name, end] of Object.entries(ends)) line.setAttribute(name, end);
      drawn.push({ line, row, column, value });
      svg.append(line);
    }
  }
  const sides = { row: element("div", "left"), column: element("div", "right") };
  const words = {
    row: kind.queries.map((label, index) => word(rowName(kind, index), "row", index)),
    column: kind.keys.map((label, index) => word([named(label)], "column", index)),
  };
  function show(side, index) {
    for (const button of [...words.row, ...words.column]) button.querySelector(".number")?.remove();
    for (const button of [...words.row, ...words.column]) button.classList.remove("off", "on");
    for (const each of drawn) each.line.style.display = side === undefined || each[side] === index ? "" : "none";
    if (side === undefined) return;
    const other = side === "row" ? "column" : "row";
    words[side][index].classList.add("on");
    words[other].forEach((button, place) => {
      const value = side === "row" ? weight(kind, index, place) : weight(kind, place, index);
      button.classList.toggle("off", value < FAINTEST);
      if (value >= 0.001) button[other === "row" ? "append" : "prepend"](element("span", "number", value.toFixed(3)));
    });
  }
  function word(parts, side, index) {
    const button = element("button", "word");
    button.type = "button";
    button.tabIndex = index ? -1 : 0;
    button.append(...parts);
    button.onmouseenter = button.onfocus = () => show(side, index);
    button.onmouseleave = button.onblur = () => show();
    button.onkeydown = (event) => {
      const goal = { ArrowDown: [side, index + 1], ArrowUp: [side, index - 1], ArrowLeft: ["row", index], ArrowRight: ["column", index] }[event.key];
      const next = goal && words[goal[0]][goal[1]];
      if (!next) return;
      event.preventDefault();
      next.focus();
    };
    return button;
  }
  for (const side of ["row", "column"]) sides[side].append(...words[side]);
  box.append(sides.row, svg, sides.column);
  return box;
}

function map(kind) {
  const size = Math.min(26, Math.max(5, Math.floor(560 / Math.max(kind.rows, kind.columns))));
  const canvas = element("canvas");
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `${headName(view.layer, view.head)}: arrow keys read the weights`);
  const ratio = window.devicePixelRatio || 1;
  Object.assign(canvas, { width: kind.columns * size * ratio, height: kind.rows * size * ratio });
  Object.assign(canvas.style, { width: `${kind.columns * size}px`, height: `${kind.rows * size}px`, boxSizing: "content-box" });
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  function draw(marked) {
    for (let row = 0; row < kind.rows; row++) {
      for (let column = 0; column < kind.columns; column++) {
        context.fillStyle = `rgb(${color(weight(kind, row, column)).slice(0, 3).join(",")})`;
        context.fillRect(column * size, row * size, size, size);
      }
    }
    if (!marked) return;
    context.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--accent");
    context.lineWidth = 1.5;
    context.strokeRect(0, marked[0] * size, kind.columns * size, size);
    context.strokeRect(marked[1] * size, 0, size, kind.rows * size);
  }
  const labels = {
    top: labelled("columns", kind.keys, size, "width"),
    left: labelled("rows left", kind.queries, size, "height"),
    right: kind.predicted ? labelled("rows", kind.predicted, size, "height") : element("span"),
  };
  let marked = null;
  function mark(place) {
    marked = place;
    draw(place);
    for (const [side, axis] of [["top", 1], ["left", 0], ["right", 0]]) {
      [...labels[side].children].forEach((label, index) => label.classList.toggle("on", place?.[axis] === index));
    }
    place ? tell(kind, ...place) : tell();
  }
  canvas.onmousemove = ({ offsetX, offsetY }) => {
    const place = [Math.floor(offsetY / size), Math.floor(offsetX / size)];
    if (place[0] >= 0 && place[0] < kind.rows && place[1] >= 0 && place[1] < kind.columns) mark(place);
  };
  canvas.onmouseleave = canvas.onblur = () => mark(null);
  canvas.onkeydown = (event) => {
    const [down, right] = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[event.key] ?? [];
    if (down === undefined) return;
    event.preventDefault();
    const [row, column] = marked ?? [-down, -right];
    mark([Math.min(Math.max(row + down, 0), kind.rows - 1), Math.min(Math.max(column + right, 0), kind.columns - 1)]);
  };
  draw(null);
  const box = element("div", "heat");
  const heading = (text) => element("span", "faint", kind.predicted ? text : "");
  box.append(heading("fed"), labels.top, heading("predicts"), labels.left, canvas, labels.right);
  return box;
}

function labelled(style, labels, size, extent) {
  const box = element("div", style);
  labels.forEach((label) => {
    const line = element("div");
    Object.assign(line.style, { [extent]: `${size}px`, lineHeight: `${size}px`, fontSize: `${Math.min(12, Math.max(5, size - 1))}px` });
    line.append(named(label));
    box.append(line);
  });
  return box;
}

function matrix(kind) {
  const table = element("table", "matrix");
  const head = element("tr");
  head.append(element("th"), ...kind.keys.map((label) => labelCell("th", [named(label)])));
  table.append(head);
  for (let index = 0; index < kind.rows; index++) {
    const line = element("tr");
    line.append(labelCell("th", rowName(kind, index)));
    for (let column = 0; column < kind.columns; column++) line.append(element("td", "number", weight(kind, index, column).toFixed(3)));
    table.append(line);
  }
  return table;
}

function labelCell(tag, parts) {
  const cell = element(tag);
  cell.append(...parts);
  return cell;
}

function tell(kind, row, column) {
  if (!kind) {
    const hints = { Lines: "Hover a word, or walk with Tab and arrow keys, to read its weights.", Map: "Hover a cell, or use arrow keys, to read it.", Table: "" };
    return places.status.replaceChildren(element("span", "faint", hints[view.view]));
  }
  const value = element("b", "number", weight(kind, row, column).toFixed(3));
  places.status.replaceChildren(...rowName(kind, row), " looks at ", named(kind.keys[column]), ": ", value);
}

// --- words ----------------------------------------------------------------------------------------------------------

// A row: its query; in the decoder what was fed, and what is predicted.
function rowName(kind, index) {
  const fed = named(kind.queries[index]);
  return kind.predicted ? [fed, element("span", "faint", " \u25b8 "), named(kind.predicted[index])] : [fed];
}

function named([text, style]) {
  const span = isolated(text);
  span.className = style;
  return span;
}

// Text of any direction that does not turn the text around it.
function isolated(text) {
  const span = element("bdi", "", text);
  span.dir = "auto";
  return span;
}

function row(tag, texts, numbers) {
  const line = element("tr");
  line.append(...texts.map((text, index) => element(tag, numbers.includes(index) ? "number" : "", String(text))));
  return line;
}

function element(tag, style, text) {
  const node = document.createElement(tag);
  if (style) node.className = style;
  if (text !== undefined) node.append(...[text].flat());
  return node;
}

build();
readRamp();
recall();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  readRamp();
  select({ kind: view.kind });
});
