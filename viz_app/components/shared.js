// What the drawings of this folder share: it stands in front of the script of each.

// What a place shows is never followed by anything older: see `dated` in component.py.
const shownSince = new WeakMap();

export default function (component) {
  const [since, drawn] = component.data;
  if (since < shownSince.get(component.parentElement)) return undefined;
  shownSince.set(component.parentElement, since);
  return draw({ ...component, data: drawn });
}

const SVG = "http://www.w3.org/2000/svg";

function element(tag, style, text) {
  const node = document.createElement(tag);
  node.className = style;
  if (text !== undefined) node.textContent = text;
  return node;
}

function vector(tag, attributes) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

// Tokens come as spans of text and class, see token_spans.py. They are set as text, never as HTML.
function spelled(spans) {
  return spans.map(([text, style]) => {
    const span = element("span", style, text);
    span.dir = "auto";
    return span;
  });
}

function textOf(spans) {
  return spans.map(([text]) => text).join("");
}

// A number to be read: a minus and not a hyphen before it.
function decimal(value, digits) {
  return value.toFixed(digits).replace("-", "\u2212");
}

// The address keeps what only the browser knows, such as a slider in a drawing, under a name that is no widget's. Another page has
// another address, so it is also kept here, for a reader who comes back to what it is about.
const kept = new Map();

function held(name, least, most, about) {
  const last = kept.get(name);
  const value = Number(new URLSearchParams(window.location.search).get(name) ?? (last?.about === about ? last?.value : null) ?? NaN);
  return Number.isInteger(value) && value >= least && value <= most ? value : undefined;
}

function hold(name, value, about) {
  kept.set(name, { value, about });
  const address = new URL(window.location.href);
  if (address.searchParams.get(name) === (value === null ? null : String(value))) return;
  if (value === null) address.searchParams.delete(name);
  else address.searchParams.set(name, value);
  window.history.replaceState(window.history.state, "", address);
}

// Heads by name, each beside its line.
const DASHES = { solid: "none", dash: "6 4", dot: "2 3" };

function headNames(heads) {
  const row = element("div", "heads");
  for (const head of heads) {
    const entry = element("span", "head");
    const sample = vector("svg", { viewBox: "0 0 22 4", "aria-hidden": "true" });
    sample.append(vector("path", { d: "M0 2H22", stroke: head.color, "stroke-width": 3, "stroke-dasharray": DASHES[head.dash] }));
    entry.append(sample, element("span", "", head.name));
    row.append(entry);
  }
  return row;
}

// Tab reaches one of several buttons, arrow keys the others.
function goTo(goal, buttons) {
  for (const each of buttons) each.tabIndex = -1;
  goal.tabIndex = 0;
  goal.focus();
}

// Arrow keys in rows of buttons that know their row and column.
function moveInRows(rows, event) {
  const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
  const { row, column } = event.target.dataset;
  if (!step || row === undefined) return;
  event.preventDefault();
  const goal = rows[Number(row) + step[0]]?.[Number(column) + step[1]];
  if (goal) goTo(goal, [event.target]);
}

// Arrow keys in two columns of words: [name, words] of the left and of the right one.
function moveInColumns([left, right], name, index, event) {
  const words = name === left[0] ? left[1] : right[1];
  const beside = (column) => (column[0] === name ? index : Math.min(index, column[1].length - 1));
  const [column, place] = {
    ArrowDown: [words, Math.min(index + 1, words.length - 1)],
    ArrowUp: [words, Math.max(index - 1, 0)],
    Home: [words, 0],
    End: [words, words.length - 1],
    ArrowLeft: [left[1], beside(left)],
    ArrowRight: [right[1], beside(right)],
  }[event.key] ?? [];
  if (!column?.[place]) return;
  event.preventDefault();
  goTo(column[place], column);
}

// Select a word of the sentence, with a key held down beside those that are; without a name, none. The sentence bar answers it, which
// is on every page.
const SELECTED = "headlight:selected";

function select(word, { ctrlKey, metaKey, shiftKey }) {
  window.dispatchEvent(new CustomEvent(SELECTED, { detail: { word, also: ctrlKey || metaKey || shiftKey } }));
}

// A head that is clicked in the grid: its name and look, its weights as a map has them, and their size. A map that stands alone draws it
// at once; the page comes back with the same a little later.
const CLICKED = "headlight:clicked";

// What is pointed at in one drawing lights up in all others on the page that know the same words. A place is a row and a
// column, each undefined where none is meant, of a drawing of a size with words of these names, and the names of the two,
// or, in the sentence, the name of a word alone; null: nothing is pointed at any more.
const POINTED = "headlight:pointed";

function tell(root, place) {
  window.dispatchEvent(new CustomEvent(POINTED, { detail: { from: root, place } }));
}

// Hear what others tell, until the drawing is drawn anew or taken off the page. Returns how to stop it.
function listen(root, hear) {
  root.deafen?.();
  const heard = ({ detail: { from, place } }) => from !== root && hear(place);
  window.addEventListener(POINTED, heard);
  root.deafen = () => window.removeEventListener(POINTED, heard);
  return root.deafen;
}

// The row and the column that a place means in a drawing of this size, whose rows and columns belong to these words: the same
// where all words are the same, or else those of the same words.
function placed(place, size, links) {
  if (!place || !links) return {};
  const same = (axis) => place.size[axis] === size[axis] && String(place.links[axis]) === String(links[axis]);
  if (place.links && same("query") && same("key")) return place;
  const found = (axis) => {
    const word = place.links ? place.links[axis][place[axis]] : place.words[0];
    return word && links[axis].includes(word) ? links[axis].indexOf(word) : undefined;
  };
  return { query: found("query"), key: found("key") };
}

function placeOf({ query, key }, size, links) {
  if (query === undefined && key === undefined) return null;
  return { query, key, size, links, words: [links.query[query], links.key[key]].filter(Boolean) };
}
