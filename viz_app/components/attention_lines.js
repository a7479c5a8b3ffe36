// Heads as lines between two columns of words. Everything that comes from a sentence is set as text, never as HTML.

const PITCH = 24; // pixels from word to word
const WIDTH = 100; // of the drawing, in its own units; the browser stretches it
const BINS = 20; // lines of one head and about one weight are one path: 120 words stay quick
const SPREAD = 3; // pixels between the lines of different heads that join the same two words
const MAX_VALUES = 4; // numbers shown at one word

function draw({ data, parentElement }) {
  const root = parentElement.querySelector(".root");
  const scrolled = root.querySelector(".box")?.scrollTop ?? 0;
  const { axis, index } = parentElement.activeElement?.dataset ?? {};
  const drawing = build(root, data);
  drawing.box.scrollTop = scrolled;
  if (axis) {
    drawing.words[axis][index]?.focus({ preventScroll: true });
    if (data.selected.length) show(drawing, data.selected);
  }
  return listen(root, (place) => {
    const { query, key } = placed(place, drawing.size, data.links);
    show(drawing, meant(data, query !== undefined ? ["query", query] : key !== undefined ? ["key", key] : null));
  });
}

function build(root, data) {
  const size = { query: data.queries.words.length, key: data.keys.words.length };
  const rows = Math.max(size.query, size.key);
  const drawing = { root, data, size, height: rows * PITCH, words: {}, lines: { query: [], key: [] } };
  data.heads.forEach((head, place) => {
    for (let i = 0; i < head.lines.length; i += 3) {
      const line = { head, place, query: head.lines[i], key: head.lines[i + 1], weight: head.lines[i + 2] };
      (drawing.lines.query[line.query] ??= []).push(line);
      (drawing.lines.key[line.key] ??= []).push(line);
    }
  });

  const box = (drawing.box = element("div", "box"));
  box.style.maxHeight = `${data.height}px`;
  const columns = element("div", "columns");
  const middle = (drawing.middle = element("div", "middle"));
  const picture = vector("svg", { viewBox: `0 0 ${WIDTH} ${drawing.height}`, preserveAspectRatio: "none", "aria-hidden": "true" });
  drawing.all = vector("g", {});
  drawing.few = vector("g", {});
  picture.append(drawing.all, drawing.few);
  middle.append(picture);
  middle.style.height = `${drawing.height}px`;
  columns.append(column(drawing, "query", data.queries), middle, column(drawing, "key", data.keys));
  box.append(columns);
  const names = headNames(data.heads);
  names.append((drawing.note = element("span", "note")));
  root.replaceChildren(names, box);

  drawAll(drawing);
  show(drawing, data.selected);
  return drawing;
}

function column(drawing, axis, { title, words }) {
  const { links, lit } = drawing.data;
  const list = element("div", axis === "query" ? "column queries" : "column");
  list.setAttribute("role", "group");
  list.setAttribute("aria-label", title);
  drawing.words[axis] = words.map((spans, index) => {
    const word = element("button", "word");
    word.type = "button";
    word.tabIndex = index ? -1 : 0; // Tab reaches a column, arrow keys its words
    Object.assign(word.dataset, { axis, index });
    word.title = textOf(spans);
    word.append(...spelled(spans));
    word.onmouseenter = word.onfocus = () => point(drawing, [axis, index]);
    word.onmouseleave = word.onblur = () => point(drawing, null);
    if (links?.[axis][index]) {
      word.setAttribute("aria-pressed", lit[axis].includes(index));
      word.onclick = (event) => select(links[axis][index], event);
    }
    word.onkeydown = (event) => {
      if (event.key === "Escape") select("", event);
      else moveInColumns(["query", "key"].map((name) => [name, drawing.words[name]]), axis, index, event);
    };
    return word;
  });
  list.append(element("div", "title", title), ...drawing.words[axis]);
  return list;
}

function drawAll({ data, all }) {
  for (const [place, head] of data.heads.entries()) {
    const paths = Array.from({ length: BINS + 1 }, () => []);
    for (let i = 0; i < head.lines.length; i += 3) {
      const [query, key, weight] = head.lines.slice(i, i + 3);
      paths[Math.round(weight * BINS)].push(curve(query, key, place, data.heads.length));
    }
    paths.forEach((parts, bin) => parts.length && all.append(stroke(head, parts.join(""), Math.max(bin / BINS, 0.04))));
  }
}

// A word that is pointed at, here and everywhere; null: none any more.
function point(drawing, word) {
  const { root, size, data } = drawing;
  show(drawing, meant(data, word));
  if (data.links) tell(root, word && placeOf({ [word[0]]: word[1] }, size, data.links));
}

// Whose lines are shown while a word is pointed at: its own, or with one of those selected, those of all.
function meant({ selected }, word) {
  return word && !selected.some((each) => String(each) === String(word)) ? [word] : selected;
}

// Show all lines, or those of some words with their numbers.
function show(drawing, chosen) {
  const { words, middle, all, few, note } = drawing;
  middle.querySelectorAll(".values").forEach((values) => values.remove());
  few.replaceChildren();
  all.style.display = chosen.length ? "none" : "";
  for (const list of [words.query, words.key]) for (const entry of list) entry.classList.remove("on", "off");
  for (const [axis, index] of chosen) words[axis][index]?.classList.add("on");
  const told = ["query", "key"].map((axis) => showSide(drawing, axis, chosen.filter(([side]) => side === axis).map(([, index]) => index)));
  note.textContent = told.some(Boolean) ? `numbers: ${told.filter(Boolean).join(", ")}` : "";
}

// The same of words of one column. Returns what the numbers are, if they are of several words.
function showSide({ data, words, lines, middle, few }, axis, indices) {
  if (!indices.length) return "";
  const other = axis === "query" ? "key" : "query";
  const found = indices.flatMap((index) => lines[axis][index] ?? []).toSorted((a, b) => b.weight - a.weight);
  const ends = Map.groupBy(found, (line) => line[other]);
  words[other].forEach((entry, place) => entry.classList.toggle("off", !ends.has(place) && !entry.classList.contains("on")));
  for (const line of found) {
    few.append(stroke(line.head, curve(line.query, line.key, line.place, data.heads.length), Math.max(line.weight, 0.25)));
  }
  const several = indices.length > 1;
  for (const [place, met] of ends) middle.append(numbers(several ? together(met, axis, place) : met, place, other, data.heads.length));
  return several ? `${axis === "query" ? "mean" : "sum"} of ${indices.length} selected ${axis === "query" ? "rows" : "columns"}` : "";
}

// Each head that meets a word there, with the number of all selected words.
function together(met, axis, place) {
  const heads = [...new Set(met.map((line) => line.head))];
  return heads.map((head) => ({ head, weight: head.together[axis][place] })).toSorted((a, b) => b.weight - a.weight);
}

function numbers(met, place, side, count) {
  const values = element("div", "values");
  values.style.top = `${place * PITCH}px`;
  values.style[side === "key" ? "right" : "left"] = "0";
  for (const { head, weight } of met.slice(0, MAX_VALUES)) {
    const value = element("span", "value");
    if (count > 1) {
      const name = element("b", "", head.short);
      name.style.borderColor = head.color;
      value.append(name);
    }
    value.append(weight.toFixed(3));
    values.append(value);
  }
  if (met.length > MAX_VALUES) values.append(element("span", "value", `+${met.length - MAX_VALUES}`));
  return values;
}

function curve(query, key, place, count) {
  const shift = (place - (count - 1) / 2) * Math.min(SPREAD, (PITCH - 8) / count);
  const from = (query + 0.5) * PITCH + shift;
  const to = (key + 0.5) * PITCH + shift;
  return `M0 ${from}C${WIDTH * 0.4} ${from} ${WIDTH * 0.6} ${to} ${WIDTH} ${to}`;
}

function stroke(head, d, opacity) {
  return vector("path", { d, stroke: head.color, "stroke-opacity": opacity, "stroke-width": 1.2 + 1.6 * opacity, "stroke-dasharray": DASHES[head.dash] });
}
