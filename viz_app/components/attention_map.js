// Attention as a map. A pointer, or the arrow keys, read its cells; a word at its side reads its whole row or column.
// Its axes may have parts, such as source and target; where two of them have nothing to do with each other it is blank.

const ROOM = 11; // pixels that a written word needs; where there is less, every second, third, ... is written
const MOST = 3; // of a row's or a column's weights that are told, in each part
const MANY = 250; // columns, of which each has a pixel even where the window does not
const OTHER = { query: "key", key: "query" };
const STEP = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

function draw({ data, parentElement }) {
  const root = parentElement.querySelector(".root");
  const words = JSON.stringify([data.query, data.key]);
  let stop = show(root, { ...data, ...lastClicked(root, data.head.name, words) }, parentElement);
  window.removeEventListener(CLICKED, root.follow);
  const follow = (root.follow = ({ detail: { head, weights, size } }) => {
    if (!data.followsClicks || size.query !== data.query.length || size.key !== data.key.length) return;
    root.clicked.push({ words, head, weights });
    stop = show(root, { ...data, head, weights }, parentElement);
  });
  window.addEventListener(CLICKED, follow);
  return () => [stop(), window.removeEventListener(CLICKED, follow)]; // its own: another drawing may have followed by then
}

// The head to draw instead of the one that the page came back with, if that answers a click which others have followed.
function lastClicked(root, name, words) {
  const answered = (root.clicked ?? []).findIndex((clicked) => clicked.head.name === name && clicked.words === words);
  root.clicked = answered < 0 ? [] : root.clicked.slice(answered + 1);
  const { head, weights } = root.clicked.at(-1) ?? {};
  return head && { head, weights };
}

function show(root, data, parentElement) {
  const { axis, index, cell } = parentElement.activeElement?.dataset ?? {};
  const map = build(root, data);
  root.replaceChildren(data.head.color ? headNames([data.head]) : "", map.frame, scale(data));
  point(map, {}, false);
  if (axis) map.words[axis][index]?.focus({ preventScroll: true });
  if (cell) map.cells.focus({ preventScroll: true });
  root.measure?.disconnect();
  const measure = (root.measure = new ResizeObserver(() => thin(map)));
  measure.observe(map.cells);
  const deafen = listen(root, (place) => point(map, placed(place, map.size, data.links), false));
  return () => [deafen(), measure.disconnect()];
}

function build(root, data) {
  const size = { query: data.query.length, key: data.key.length };
  const bytes = Uint8Array.from(atob(data.weights), (character) => character.charCodeAt(0));
  const map = { root, data, size, steps: new Int16Array(bytes.buffer), words: {}, at: {} };
  const pitch = Math.min(30, Math.max(4, Math.floor(620 / size.query)));
  map.frame = element("div", size.key > MANY ? "frame wide" : "frame");
  map.frame.style.setProperty("--rows", size.query);
  map.frame.style.setProperty("--columns", size.key);
  map.frame.style.setProperty("--height", `${Math.max(150, size.query * pitch)}px`);
  map.words.query = data.query.map((spans, index) => word(map, "query", index, spans));
  map.words.key = data.key.map((spans, index) => word(map, "key", index, spans));
  map.frame.append(titles("above", data.parts.key, "before"), titles("aside before", data.parts.query, "before"));
  map.frame.append(element("div", "corner", data.corners[0]), element("div", "corner after", data.corners[1]));
  map.frame.append(band("tops", "Columns", map.words.key), band("sides left", "Rows", map.words.query), cells(map));
  if (data.predicted) {
    map.beside = data.predicted.map((spans, index) => beside(map, spans ?? [], index));
    const right = element("div", "sides right");
    right.setAttribute("aria-hidden", "true"); // a row's button says it too
    right.append(...map.beside);
    map.frame.append(right, titles("aside after", data.parts.query, "after"));
  }
  return map;
}

function titles(style, parts, which) {
  const list = element("div", `titles ${style}`);
  for (const part of parts) {
    const title = element("div", "title", part[which]);
    title.style.flexGrow = part.stop - part.start;
    list.append(title);
  }
  return list;
}

function band(style, name, words) {
  const list = element("div", style);
  list.setAttribute("role", "group");
  list.setAttribute("aria-label", name);
  list.append(...words);
  return list;
}

function word(map, axis, index, spans) {
  const node = element("button", "word");
  node.type = "button";
  node.tabIndex = index ? -1 : 0; // Tab reaches the rows, the columns and the cells, arrow keys go on from there
  Object.assign(node.dataset, { axis, index });
  node.setAttribute("aria-label", spokenName(map.data, axis, index));
  if (map.data.links?.[axis][index]) node.setAttribute("aria-pressed", map.data.lit[axis].includes(index));
  const text = element("span", "text", "");
  text.append(...spelled(spans));
  node.append(text);
  react(map, node, axis, index);
  node.onfocus = () => point(map, { [axis]: index }, true);
  node.onblur = () => point(map, {}, true);
  node.onkeydown = (event) => {
    if (event.key === "Escape") return select("", event);
    const goal = { ArrowDown: index + 1, ArrowRight: index + 1, ArrowUp: index - 1, ArrowLeft: index - 1, Home: 0, End: map.size[axis] - 1 }[event.key];
    const next = map.words[axis][goal];
    if (!next) return;
    event.preventDefault();
    goTo(next, map.words[axis]);
  };
  return node;
}

// What a row predicts, at its right: part of the row, but for the pointer alone.
function beside(map, spans, index) {
  const node = element("div", "word");
  const text = element("span", "text", "");
  text.append(...spelled(spans));
  node.append(text);
  react(map, node, "query", index);
  return node;
}

function react(map, node, axis, index) {
  node.onmouseenter = () => point(map, { [axis]: index }, true);
  node.onmouseleave = () => point(map, {}, true);
  if (map.data.links?.[axis][index]) node.onclick = (event) => select(map.data.links[axis][index], event);
}

function cells(map) {
  const { data, size } = map;
  const box = (map.cells = element("div", Math.max(size.query, size.key) <= 40 ? "cells apart" : "cells"));
  box.tabIndex = 0;
  box.dataset.cell = "";
  box.setAttribute("role", "img");
  box.setAttribute("aria-label", `${data.head.name}, ${size.query} rows and ${size.key} columns; arrow keys read the cells`);
  map.picture = painted(map);
  map.bands = { query: element("div", "band query"), key: element("div", "band key") };
  map.tip = element("div", "tip");
  map.tip.setAttribute("role", "status");
  box.append(map.picture, element("div", "gaps"), ...blanks(map), ...edges(map), ...selected(map));
  box.append(map.bands.query, map.bands.key, map.tip);
  box.onpointermove = (event) => {
    const { left, top, width, height } = map.picture.getBoundingClientRect();
    const at = (length, share) => Math.min(length - 1, Math.max(0, Math.floor(length * share)));
    point(map, { query: at(size.query, (event.clientY - top) / height), key: at(size.key, (event.clientX - left) / width) }, true);
  };
  box.onpointerleave = () => point(map, {}, true);
  box.onblur = () => point(map, {}, true);
  box.onclick = (event) => data.links?.query[map.at.query] && select(data.links.query[map.at.query], event);
  box.onkeydown = (event) => walk(map, event);
  return box;
}

function walk(map, event) {
  const step = STEP[event.key];
  if (event.key === "Enter" && map.at.query !== undefined) return map.cells.onclick(event);
  if (event.key === "Escape") return map.at.query === undefined ? select("", event) : point(map, {}, true);
  if (!step) return;
  event.preventDefault();
  const { query = step[0] < 0 ? map.size.query : step[0] ? -1 : 0, key = step[1] < 0 ? map.size.key : step[1] ? -1 : 0 } = map.at;
  const inside = (index, count) => Math.min(count - 1, Math.max(0, index));
  point(map, { query: inside(query + step[0], map.size.query), key: inside(key + step[1], map.size.key) }, true);
}

function painted({ data, size, steps }) {
  const canvas = element("canvas", "picture");
  Object.assign(canvas, { width: size.key, height: size.query });
  const context = canvas.getContext("2d");
  const image = context.createImageData(size.key, size.query);
  const stops = data.scale.map((color) => [1, 3, 5].map((start) => parseInt(color.slice(start, start + 2), 16)));
  const shades = Array.from({ length: data.steps * (1 - data.low) + 1 }, (_, step) => shade(stops, step / (data.steps * (1 - data.low))));
  steps.forEach((step, cell) => step !== data.nothing && image.data.set(shades[step - data.low * data.steps], 4 * cell));
  context.putImageData(image, 0, 0);
  return canvas;
}

function shade(stops, share) {
  const place = share * (stops.length - 1);
  const [from, to] = [stops[Math.floor(place)], stops[Math.ceil(place)]];
  return [...from.map((channel, index) => Math.round(channel + (to[index] - channel) * (place % 1))), 255];
}

function selected({ data, size }) {
  return Object.entries(data.lit).flatMap(([axis, indices]) =>
    indices.map((index) => laid(element("div", `band ${axis} selected`), axis, index, index + 1, size)),
  );
}

// Where two parts of an axis meet.
function edges({ data, size }) {
  return Object.entries(data.parts).flatMap(([axis, parts]) => parts.slice(1).map(({ start }) => laid(element("div", `edge ${axis}`), axis, start, start, size)));
}

// Two parts that have nothing to do with each other, and why.
function blanks({ data, size }) {
  return data.blanks.map(({ query, key, why }) => {
    const box = element("div", "blank");
    box.append(element("span", "", why));
    for (const [axis, part] of Object.entries({ query, key })) laid(box, axis, data.parts[axis][part].start, data.parts[axis][part].stop, size);
    return box;
  });
}

function laid(node, axis, start, stop, size) {
  node.style[axis === "query" ? "top" : "left"] = `${(100 * start) / size[axis]}%`;
  node.style[axis === "query" ? "height" : "width"] = `${(100 * (stop - start)) / size[axis]}%`;
  return node;
}

// Light up a row, a column or both, here and, if it is to be told, in the other drawings.
function point(map, at, told) {
  const { data, size, words } = map;
  map.at = at;
  for (const axis of ["query", "key"]) {
    map.bands[axis].hidden = at[axis] === undefined;
    if (at[axis] !== undefined) laid(map.bands[axis], axis, at[axis], at[axis] + 1, size);
    words[axis].forEach((node, index) => {
      node.classList.toggle("on", at[axis] === undefined ? data.lit[axis].includes(index) : index === at[axis]);
      if (axis === "query") map.beside?.[index].classList.toggle("on", node.classList.contains("on"));
    });
  }
  describe(map, told);
  if (told && data.links) tell(map.root, placeOf(at, size, data.links));
}

// The numbers of what is pointed at here: of a cell its weight, of a row or a column its largest.
function describe(map, told) {
  const { tip, at, data, size } = map;
  const { query, key } = at;
  tip.hidden = !told || (query === undefined && key === undefined);
  if (tip.hidden) return;
  const lines = [];
  if (query !== undefined && key !== undefined) {
    const found = value(map, query, key) !== data.nothing;
    lines.push([row(data, query)], [found ? "looks at " : "does not look at ", strong(data.key[key])], [found ? number(map, query, key) : reason(data, query, key)]);
  } else {
    const [axis, index] = query !== undefined ? ["query", query] : ["key", key];
    lines.push(axis === "query" ? [row(data, index), " looks at"] : [strong(data.key[index]), " is looked at by"]);
    for (const part of data.parts[OTHER[axis]]) lines.push(...largest(map, axis, index, part));
    if (lines.length === 1) lines.push(["nothing"]);
  }
  tip.replaceChildren(
    ...lines.map((parts) => {
      const line = element("div", "");
      line.append(...parts);
      return line;
    }),
  );
  const [down, right] = [(query ?? 0) < size.query / 2, (key ?? 0) < size.key / 2];
  Object.assign(tip.style, { top: "", bottom: "", left: "", right: "" });
  tip.style[down ? "top" : "bottom"] = query === undefined ? "4px" : `calc(${(100 * (down ? query + 1 : size.query - query)) / size.query}% + 6px)`;
  tip.style[right ? "left" : "right"] = key === undefined ? "4px" : `calc(${(100 * (right ? key + 1 : size.key - key)) / size.key}% + 6px)`;
}

// The largest weights of a row or a column within a part of the other axis.
function largest(map, axis, index, { name, start, stop }) {
  const { data } = map;
  const of = (other) => (axis === "query" ? [index, other] : [other, index]);
  const strength = (other) => Math.abs(value(map, ...of(other)));
  const others = Array.from({ length: stop - start }, (_, place) => start + place).filter((other) => value(map, ...of(other)) !== data.nothing);
  const names = others.sort((a, b) => strength(b) - strength(a)).slice(0, MOST);
  const lines = names.map((other) => [number(map, ...of(other)), " ", strong((axis === "key" && data.predicted?.[other]) || data[OTHER[axis]][other])]);
  return lines.length && name ? [[element("span", "faint", name)], ...lines] : lines;
}

function reason(data, query, key) {
  const lies = (axis, part, index) => data.parts[axis][part].start <= index && index < data.parts[axis][part].stop;
  return data.blanks.find((blank) => lies("query", blank.query, query) && lies("key", blank.key, key))?.why ?? "";
}

function value({ steps, size }, query, key) {
  return steps[query * size.key + key];
}

function number(map, query, key) {
  const share = value(map, query, key) / map.data.steps;
  const sign = map.data.low < 0 && share ? (share < 0 ? "\u2212" : "+") : "";
  return element("span", "number", sign + Math.abs(share).toFixed(3));
}

function row(data, index) {
  const name = element("span", "");
  if (data.predicted?.[index]) name.append("fed ", strong(data.query[index]), " \u25b8 predicts ", strong(data.predicted[index]));
  else name.append(strong(data.query[index]));
  return name;
}

function spokenName(data, axis, index) {
  const text = textOf(data[axis][index]);
  if (axis === "query" && data.predicted?.[index]) return `fed ${text}, predicts ${textOf(data.predicted[index])}`;
  const { name } = data.parts[axis].find(({ stop }) => index < stop);
  return name ? `${text}, ${name}` : text;
}

function strong(spans) {
  const name = element("b", "");
  name.append(...spelled(spans));
  return name;
}

// As many words as there is room for; the others are written while they are pointed at.
function thin({ cells, words, beside, size }) {
  const room = { query: cells.clientHeight / size.query, key: cells.clientWidth / size.key };
  for (const axis of ["query", "key"]) {
    const step = Math.ceil(ROOM / room[axis]);
    for (const list of [words[axis], (axis === "query" && beside) || []]) list.forEach((node, index) => node.classList.toggle("unwritten", index % step > 0));
  }
}

function scale({ scale, low }) {
  const line = element("div", "scale");
  const bar = element("i", "");
  bar.style.background = `linear-gradient(to right, ${scale.join(", ")})`;
  line.append(element("span", "number", low ? "\u22121" : "0"), bar, element("span", "number", low ? "+1" : "1"), low ? "difference" : "weight");
  return line;
}
