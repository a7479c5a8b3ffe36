// A beam search, a row a position. Rows after the step that is looked at are hidden; tokens are set as text, never as HTML.

const MARKS = { live: "\u25cf", finished: "\u25a0", pruned: "\u00d7", dropped: "\u25cb" };
const NAMES = { live: "live", finished: "finished", pruned: "pruned at once", dropped: "went on, then dropped" };
const STEP = "beam_step"; // what the address calls the one that is looked at, unless it is the last
const HINT = "Hover a candidate to read it, click it to look at its attention.";

function draw({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  const place = { ...parentElement.activeElement?.dataset };
  const { scrollTop = 0, scrollLeft = 0 } = root.querySelector(".box") ?? {};
  const last = data.steps.length;
  const asked = root.dataset.step === undefined ? held(STEP, 1, last) : undefined;
  const known = asked ?? Number(root.dataset.step ?? last);
  const atEnd = asked === undefined && root.dataset.atEnd !== "false";
  const view = { data, last, step: atEnd ? last : Math.min(known, last), rows: [], nodes: [], root };
  view.send = (position, rank) => setTriggerValue("node", { position, rank });
  const box = element("div", "box");
  box.append(tree(view));
  view.told = element("div", "told");
  view.told.setAttribute("role", "status");
  root.replaceChildren(controls(view), view.told, box);
  show(view, view.step);
  say(view, data.selected && view.nodes[data.selected[0] - 1][data.selected[1]]);
  Object.assign(box, { scrollTop, scrollLeft });
  const focused = place.rank !== undefined ? view.nodes[place.position - 1]?.[place.rank]?.button : place.step ? view.slider : null;
  focused?.focus({ preventScroll: true });
}

function controls(view) {
  const line = element("div", "controls");
  const label = element("label", "stepper", "Step");
  view.slider = element("input", "");
  Object.assign(view.slider, { type: "range", min: 1, max: view.last, step: 1, value: view.step, title: "Arrow keys go step by step" });
  view.slider.dataset.step = "slider";
  view.output = element("output", "");
  view.slider.oninput = () => show(view, Number(view.slider.value));
  label.append(view.slider, view.output);
  const legend = element("div", "legend");
  for (const [fate, name] of Object.entries(NAMES)) {
    const item = element("span", "");
    item.append(element("b", "", MARKS[fate]), name);
    legend.append(item);
  }
  line.append(label, legend);
  return line;
}

function tree(view) {
  const { data } = view;
  const grid = element("div", "tree");
  grid.style.setProperty("--columns", data.columns);
  grid.setAttribute("role", "group");
  grid.setAttribute("aria-label", "Search tree");
  const start = element("div", "row start");
  const root = element("span", "node start");
  root.append(element("span", "mark", ""), label([["<s>", "special"]]), element("span", "score", "start"));
  start.append(root);
  grid.append(element("span", "number", "0"), start);
  data.steps.forEach((nodes, index) => {
    const row = element("div", "row");
    const lines = vector("svg", { viewBox: `0 0 ${data.columns} 18`, preserveAspectRatio: "none" });
    row.append(lines);
    view.nodes.push(nodes.map((node, rank) => place(view, lines, row, node, index + 1, rank)));
    const number = element("span", "number", String(index + 1));
    view.rows.push([number, row]);
    grid.append(number, row);
  });
  view.stop = element("div", "stop", data.stop);
  grid.append(view.stop);
  grid.onmouseleave = () => say(view, chosen(view));
  grid.onkeydown = (event) => move(view, event);
  view.nodes[0][0].button.tabIndex = 0; // Tab reaches the tree, arrow keys its nodes
  return grid;
}

function place(view, lines, row, node, position, rank) {
  const line = vector("path", {});
  const [from, to] = [(node.parent ?? 0) + 0.5, rank + 0.5];
  line.setAttribute("d", `M${from},0 C${from},9 ${to},9 ${to},18`);
  line.style.strokeWidth = `${0.8 + 3.2 * Math.exp(node.tokenLogProb)}px`;
  lines.append(line);
  const button = element("button", "node");
  button.type = "button";
  button.tabIndex = -1;
  Object.assign(button.dataset, { position, rank });
  const mark = element("span", "mark");
  button.append(mark, label(node.spans), element("span", "score", decimal(node.score, 2)));
  const drawn = { ...node, position, rank, line, button, mark };
  button.onmouseenter = button.onfocus = () => say(view, drawn);
  button.onclick = () => view.send(position, rank);
  row.append(button);
  return drawn;
}

function label(spans) {
  const token = element("span", "token");
  token.dir = "auto";
  token.append(...spelled(spans));
  return token;
}

// The search as it stood after a step.
function show(view, step) {
  const { data, last, root } = view;
  view.step = step;
  Object.assign(root.dataset, { step, atEnd: step === last });
  hold(STEP, step === last ? null : step);
  view.slider.value = step;
  view.output.textContent = `${step} of ${last}`;
  view.rows.forEach((parts, index) => parts.forEach((part) => (part.hidden = index >= step)));
  view.stop.hidden = step < last;
  for (const node of view.nodes.slice(0, step).flat()) {
    const fate = stateOf(node, step);
    const best = node.best && step === last;
    const alive = fate === "live" || fate === "finished";
    const on = data.selected?.[0] === node.position && data.selected[1] === node.rank;
    node.mark.textContent = MARKS[fate];
    node.button.className = ["node", fate, alive ? "" : "dead", best ? "best" : "", on ? "on" : "", node.forced ? "forced" : ""].join(" ");
    node.line.setAttribute("class", best ? "best" : alive ? "alive" : "");
    node.button.setAttribute("aria-pressed", on);
    node.button.setAttribute("aria-label", `${node.name}, position ${node.position}, rank ${node.rank + 1}, ${NAMES[fate]}`);
  }
  say(view, chosen(view));
}

function stateOf(node, step) {
  if (node.fate !== "live") return node.fate;
  return node.until >= step ? "live" : "dropped";
}

function chosen({ data, nodes, step }) {
  return data.selected && data.selected[0] <= step ? nodes[data.selected[0] - 1][data.selected[1]] : null;
}

// What a node says, its way from the start marked.
function say(view, node) {
  const { data, nodes, told, last, step } = view;
  for (const each of nodes.flat()) {
    each.button.classList.remove("way");
    each.line.classList.remove("way");
  }
  if (!node) return void told.replaceChildren(HINT);
  const path = [node];
  while (path[0].parent !== null) path.unshift(nodes[path[0].position - 2][path[0].parent]);
  for (const each of path) {
    each.button.classList.add("way");
    each.line.classList.add("way");
  }
  const words = element("div", "path");
  words.dir = data.direction;
  path.forEach(({ run, spans, glued }, index) => {
    if (index && !glued) words.append(" ");
    words.append(...(index === path.length - 1 && !run.length ? spans : run).map(([part, style]) => element("span", style, part)));
  });
  const state = stateOf(node, step);
  const reason = step < last && state === "live" ? `Live at step ${step}.` : data.reasons[node.reason];
  const facts = `rank ${node.rank + 1} of ${nodes[node.position - 1].length}, score ${decimal(node.score, 2)}, token log-prob ${decimal(node.tokenLogProb, 2)}`;
  const line = element("div", "");
  line.append(element("span", "numbers", `${facts}  `), reason);
  told.replaceChildren(words, line);
}

function move(view, event) {
  const { position, rank } = event.target.dataset;
  if (position === undefined) return;
  const node = view.nodes[position - 1][rank];
  const goal = {
    ArrowLeft: () => view.nodes[position - 1][node.rank - 1],
    ArrowRight: () => view.nodes[position - 1][node.rank + 1],
    ArrowUp: () => view.nodes[position - 2]?.[node.parent],
    ArrowDown: () => (Number(position) < view.step ? view.nodes[position].find(({ parent }) => parent === node.rank) : undefined),
  }[event.key];
  if (!goal) return;
  event.preventDefault();
  const next = goal();
  if (!next) return;
  event.target.tabIndex = -1;
  next.button.tabIndex = 0;
  next.button.focus();
}
