// Ribbons between two columns of words. Click a word of each side, in either order, to link them or to undo it.

const PITCH = 30; // pixels from word to word
const FULL = 24; // pixels of a ribbon of weight 1
const WIDTH = 100; // of the drawing, in its own units; the browser stretches it
const OTHER = { source: "target", target: "source" };

function draw({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  const scrolled = root.querySelector(".box")?.scrollTop ?? 0;
  const { side, index } = parentElement.activeElement?.dataset ?? {};
  const drawing = { data, armed: null, words: {}, ribbons: [], gold: [], send: (link) => setTriggerValue("link", link) };
  const rows = Math.max(data.source.length, data.target.length, 1);
  const box = element("div", "box");
  box.style.maxHeight = `${data.height}px`;
  const columns = element("div", "columns");
  const middle = (drawing.middle = element("div", "middle"));
  middle.style.height = `${rows * PITCH}px`;
  middle.append(picture(drawing, rows * PITCH));
  columns.append(column(drawing, "source", "source"), middle, column(drawing, "target", "translation"));
  box.append(columns);
  root.replaceChildren(legend(data), box);
  box.scrollTop = scrolled;
  if (side) drawing.words[side][index]?.focus({ preventScroll: true });
}

function picture(drawing, height) {
  const svg = vector("svg", { viewBox: `0 0 ${WIDTH} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" });
  const ribbons = vector("g", { class: "ribbons" });
  const gold = vector("g", { class: "gold" });
  const { source, target } = drawing.data;
  const sums = target.map(() => 0);
  for (const [, to, weight] of drawing.data.ribbons) sums[to] += weight;
  const squeeze = { source: source.map(({ covered }) => FULL / Math.max(1, covered)), target: sums.map((sum) => FULL / Math.max(1, sum)) };
  const tops = {
    source: source.map(({ covered }, index) => (index + 0.5) * PITCH - (covered * squeeze.source[index]) / 2),
    target: sums.map((sum, index) => (index + 0.5) * PITCH - (sum * squeeze.target[index]) / 2),
  };
  for (const [from, to, weight, link] of drawing.data.ribbons) {
    const [left, right] = [tops.source[from], tops.target[to]];
    const [thick, thin] = [weight * squeeze.source[from], weight * squeeze.target[to]];
    tops.source[from] += thick;
    tops.target[to] += thin;
    const d = `M0 ${left}${bend(left, right)}V${right + thin}${bend(right + thin, left + thick, true)}Z`;
    const path = vector("path", { d, class: link ? "link" : "" });
    drawing.ribbons.push({ path, source: from, target: to, weight });
    ribbons.append(path);
  }
  for (const [from, to, sure, found] of drawing.data.gold) {
    const [left, right] = [(from + 0.5) * PITCH, (to + 0.5) * PITCH];
    const path = vector("path", { d: `M0 ${left}${bend(left, right)}`, class: `${found ? "" : "missed"} ${sure ? "" : "possible"}` });
    drawing.gold.push({ path, source: from, target: to });
    gold.append(path);
  }
  svg.append(ribbons, gold);
  return svg;
}

function bend(from, to, back) {
  const [one, two, end] = back ? [0.6, 0.4, 0] : [0.4, 0.6, 1];
  return `C${WIDTH * one} ${from} ${WIDTH * two} ${to} ${WIDTH * end} ${to}`;
}

function column(drawing, side, title) {
  const list = element("div", `column ${side}`);
  list.setAttribute("role", "group");
  list.setAttribute("aria-label", side === "source" ? "Source words" : "Target words");
  drawing.words[side] = drawing.data[side].map((word, index) => button(drawing, side, word, index));
  list.append(element("div", "title", title), ...drawing.words[side]);
  return list;
}

function button(drawing, side, { spans, covered, share }, index) {
  const node = element("button", "word");
  node.type = "button";
  node.tabIndex = index ? -1 : 0; // Tab reaches a column, arrow keys its words
  Object.assign(node.dataset, { side, index });
  const name = textOf(spans);
  node.title = side === "source" ? `${name}\n${covered.toFixed(3)} of attention in all` : name;
  if (share != null) node.title += `\n${share.toFixed(3)} from the source, ${(1 - share).toFixed(3)} from the prefix`;
  node.setAttribute("aria-pressed", "false");
  const text = spelled(spans);
  const number = element("span", "number", String(index));
  node.append(...(side === "source" ? [...text, number] : [number, ...text]));
  if (share != null) {
    const track = element("div", "share");
    const bar = element("div", "");
    bar.style.width = `${100 * Math.min(1, share)}%`;
    track.append(bar);
    node.append(track);
  }
  node.onmouseenter = node.onfocus = () => show(drawing, side, index);
  node.onmouseleave = node.onblur = () => show(drawing);
  node.onclick = () => press(drawing, side, index);
  node.onkeydown = (event) => move(drawing, side, index, event);
  return node;
}

// The first click holds a word, one on the other side links the two; on the same side it holds that one instead.
function press(drawing, side, index) {
  const { armed } = drawing;
  if (armed && armed.side !== side) {
    arm(drawing, null);
    drawing.send({ [side]: index, [armed.side]: armed.index });
  } else {
    arm(drawing, armed?.index === index ? null : { side, index });
  }
}

function arm(drawing, word) {
  drawing.armed = word;
  for (const side of ["source", "target"]) {
    drawing.words[side].forEach((node, index) => {
      const held = word?.side === side && word.index === index;
      node.classList.toggle("armed", held);
      node.setAttribute("aria-pressed", held);
    });
  }
}

function show(drawing, side, index) {
  drawing.middle.querySelectorAll(".value").forEach((value) => value.remove());
  const met = new Set();
  for (const line of [...drawing.ribbons, ...drawing.gold]) {
    const on = side === undefined || line[side] === index;
    line.path.classList.toggle("hidden", !on);
    if (on && side !== undefined) met.add(line[OTHER[side]]);
    if (on && side !== undefined && line.weight >= 0.05) drawing.middle.append(value(line, OTHER[side]));
  }
  for (const each of ["source", "target"]) {
    drawing.words[each].forEach((node, place) => node.classList.toggle("off", each === OTHER[side] && !met.has(place)));
  }
}

function value(line, side) {
  const node = element("span", "value", line.weight.toFixed(2));
  node.style.top = `${line[side] * PITCH}px`;
  node.style[side === "target" ? "right" : "left"] = "2px";
  return node;
}

function move(drawing, side, index, event) {
  if (event.key === "Escape") return arm(drawing, null);
  moveInColumns(["source", "target"].map((name) => [name, drawing.words[name]]), side, index, event);
}

function legend({ gold, target }) {
  const row = element("div", "legend");
  const marks = [["strong", "link: what a word looks at most"], ["weak", "other weight"]];
  for (const [style, text] of marks) row.append(entry(vector("rect", { class: style, width: 24, height: 8, y: 1 }), text));
  if (target[0]?.share != null) row.append(entry(vector("rect", { class: "bar", width: 24, height: 3, y: 4 }), "share from the source"));
  if (gold.length) {
    const line = { class: "line", x1: 0, x2: 24, y1: 5, y2: 5 };
    row.append(entry(vector("line", line), "gold link, found"), entry(vector("line", { ...line, "stroke-dasharray": "5 4" }), "gold link, missed"));
  }
  return row;
}

function entry(mark, text) {
  const span = element("span", "");
  const svg = vector("svg", { viewBox: "0 0 24 10", "aria-hidden": "true" });
  svg.append(mark);
  span.append(svg, text);
  return span;
}
