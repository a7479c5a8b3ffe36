// A button for each head, and for each layer one that stands for all its heads.

function draw({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  const place = { ...parentElement.activeElement?.dataset };
  const boards = element("div", "boards");
  const columns = Math.max(...data.boards.flatMap(({ rows }) => rows.map(({ cells }) => cells.length))); // of all boards: cells of one size
  boards.append(...data.boards.map((board) => drawn(board, columns, (layer, head) => setTriggerValue("switch", { kind: board.kind, layer, head }))));
  root.replaceChildren(boards, legend(data));
  if (place.kind) {
    const again = root.querySelector(`[data-kind="${place.kind}"][data-row="${place.row}"][data-column="${place.column}"]`);
    if (again) {
      for (const each of root.querySelectorAll(`[data-kind="${place.kind}"]`)) each.tabIndex = -1;
      again.tabIndex = 0;
      again.focus({ preventScroll: true });
    }
  }
}

function drawn({ kind, name, rows }, columns, send) {
  const board = element("div", "board");
  const off = rows.flatMap(({ cells }) => cells).filter(({ gate }) => gate !== 1).length;
  board.append(element("div", "title", off ? `${name}: ${off} set` : name));
  const grid = element("div", "grid");
  const heads = Math.max(...rows.map(({ cells }) => cells.length));
  grid.style.setProperty("--columns", columns);
  grid.setAttribute("role", "group");
  grid.setAttribute("aria-label", `Switches: ${name}`);
  grid.append(element("span", "name"));
  for (let head = 0; head < columns; head++) grid.append(element("span", "name", head < heads ? `H${head + 1}` : ""));
  const buttons = rows.map((row, index) => {
    const all = button("layer", row.name, kind, index, 0, () => send(row.layer, null));
    all.setAttribute("aria-label", `All heads of ${name} ${row.name}`);
    all.title = "All heads of this layer";
    return [all, ...row.cells.map((cell, column) => switched(cell, kind, index, column + 1, () => send(row.layer, cell.head)))];
  });
  for (const line of buttons) {
    grid.append(...line);
    for (let gap = line.length; gap <= columns; gap++) grid.append(element("span", ""));
  }
  (buttons[0]?.[1] ?? buttons[0]?.[0]).tabIndex = 0; // Tab reaches a board, arrow keys its switches
  grid.onkeydown = (event) => moveInRows(buttons, event);
  board.append(grid);
  return board;
}

function switched(cell, kind, row, column, send) {
  const set = cell.gate !== 1;
  const node = button(set ? "cell set" : "cell", "", kind, row, column, send);
  const effect = cell.effect === null ? "" : `off alone ${signed(cell.effect, 3)} nats`;
  if (set) node.append(element("span", "", cell.gate === 0 ? "off" : cell.gate.toFixed(1)));
  else if (cell.effect !== null) node.textContent = short(cell.effect);
  Object.assign(node.style, { background: cell.color, color: cell.text });
  node.title = [cell.name, set ? `set to ${cell.gate.toFixed(2)}` : "on", effect].filter(Boolean).join("\n");
  node.setAttribute("aria-label", cell.name);
  node.setAttribute("aria-pressed", set);
  return node;
}

function legend({ limit, scale }) {
  const line = element("div", "legend");
  if (limit === null) return line;
  const bar = element("i", "");
  bar.style.background = `linear-gradient(to right, ${scale.join(", ")})`;
  line.append(element("b", "", `\u2212${limit}`), bar, element("b", "", `+${limit}`), "log-probability, head off alone, in nats");
  return line;
}

function signed(value, digits) {
  const text = Math.abs(value).toFixed(digits);
  return Number(text) === 0 ? text : `${value < 0 ? "\u2212" : "+"}${text}`;
}

function short(effect) {
  const text = signed(effect, Math.abs(effect) < 9.95 ? 1 : 0);
  return Number(text) === 0 ? "0" : text.replace(/^([\u2212+])0\./, "$1.");
}

function button(style, text, kind, row, column, send) {
  const node = element("button", style, text);
  node.type = "button";
  node.tabIndex = -1;
  Object.assign(node.dataset, { kind, row, column });
  node.onclick = send;
  return node;
}
