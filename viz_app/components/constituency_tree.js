// A constituency tree. Labels are set as text, never as HTML. Tab reaches the tree, arrow keys go from node to node.

const CHARACTER = 8.2; // pixels
const ROW = 44;
const BOX = 24;

function draw({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  const hadFocus = parentElement.activeElement?.dataset?.node !== undefined;
  const { scrollLeft = 0 } = root.querySelector(".box") ?? {};
  const box = element("div", "box");
  const [wide, high] = [data.columns * CHARACTER + 8, data.rows * ROW + 14];
  const picture = vector("svg", { viewBox: `0 0 ${wide} ${high}`, width: wide, height: high, role: "group", "aria-label": "Tree" });
  for (const node of data.nodes) if (node.parent !== null) picture.append(line(data.nodes[node.parent], node));
  const drawn = data.nodes.map((node, index) => drawing(node, index, index === data.selected, () => setTriggerValue("node", index)));
  picture.append(...drawn);
  picture.onkeydown = (event) => move(event, data.nodes, drawn);
  box.append(picture);
  root.replaceChildren(box);
  box.scrollLeft = scrollLeft;
  if (hadFocus) drawn[data.selected].focus({ preventScroll: true });
}

const left = (node) => node.x * CHARACTER + 4;
const top = (node) => node.row * ROW + 4;

// To a place in the next row, and straight down from there, as far below as a word may stand: so no line crosses another.
function line(over, node) {
  const [x0, y0, x1, y1] = [left(over), top(over) + BOX, left(node), top(node)];
  return vector("path", { class: "edge", d: `M${x0},${y0}L${x1},${top(over) + ROW}V${y1}` });
}

function drawing(node, index, selected, send) {
  const isWord = node.weight !== null;
  const group = vector("g", { class: `node ${isWord ? "word" : "bracket"}${selected ? " on" : ""}`, role: "button", tabindex: selected ? 0 : -1 });
  group.dataset.node = index;
  group.setAttribute("aria-pressed", selected);
  const [first, last] = node.words;
  const where = first === last ? `word ${first}` : `words ${first} to ${last}`;
  const name = isWord ? `${node.label}, looked at ${node.weight.toFixed(3)}` : `${node.label}, ${where}`;
  group.setAttribute("aria-label", name);
  const title = vector("title", {});
  title.textContent = name;
  const width = Math.max(2, node.label.length) * CHARACTER + 6;
  const frame = vector("rect", { x: left(node) - width / 2, y: top(node), width, height: BOX, rx: 4 });
  if (isWord) frame.style.setProperty("--share", `${(100 * node.weight).toFixed(1)}%`);
  const text = vector("text", { x: left(node), y: top(node) + BOX / 2 + 0.5 });
  text.textContent = node.label;
  if (isWord && node.weight > 0.5) text.setAttribute("class", "over");
  group.append(title, frame, text);
  if (isWord && node.weight >= 0.005) {
    const number = vector("text", { class: "number", x: left(node), y: top(node) + BOX + 10 });
    number.textContent = node.weight.toFixed(2);
    group.append(number);
  }
  group.onclick = send;
  return group;
}

function move(event, nodes, drawn) {
  const index = drawn.indexOf(event.target);
  if (index < 0) return;
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    drawn[index].onclick();
    return;
  }
  const siblings = nodes.map((node, other) => [node, other]).filter(([node]) => node.parent === nodes[index].parent).map(([, other]) => other);
  const place = siblings.indexOf(index);
  const next = {
    ArrowUp: nodes[index].parent,
    ArrowDown: nodes.findIndex((node) => node.parent === index),
    ArrowLeft: siblings[place - 1],
    ArrowRight: siblings[place + 1],
  }[event.key];
  if (!(event.key in { ArrowUp: 1, ArrowDown: 1, ArrowLeft: 1, ArrowRight: 1 })) return;
  event.preventDefault();
  if (next === undefined || next === null || next < 0) return;
  goTo(drawn[next], drawn);
}
