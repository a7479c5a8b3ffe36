// All heads as one picture, cut up into a button for each.

function draw({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  const focused = parentElement.activeElement?.dataset;
  const place = focused && { ...focused };
  const send = (cell) => {
    setTriggerValue("head", { layer: cell.layer, head: cell.head });
    const weights = data.weights[cell.layer]?.[cell.head];
    if (weights) window.dispatchEvent(new CustomEvent(CLICKED, { detail: { head: { name: cell.name, ...data.looks[cell.head] }, weights, size: data.size } }));
  };
  const grid = element("div", "grid");
  grid.setAttribute("role", "group");
  grid.setAttribute("aria-label", "Heads");
  grid.style.setProperty("--columns", data.columns.length);
  grid.style.setProperty("--row", `${data.rowHeight}px`);
  grid.style.setProperty("--rows", data.rows.length);
  grid.append(element("span", "name layer", data.sorted ? "rank" : ""));
  for (const name of data.columns) grid.append(element("span", "name", name));
  const buttons = data.rows.map(({ cells }, row) => cells.map((cell, column) => button(cell, row, column, data, send)));
  data.rows.forEach(({ name }, row) => {
    const title = element("span", "name layer", name);
    title.style.gridRow = row + 2; // rows may differ in length
    grid.append(title, ...buttons[row]);
  });
  grid.append(element("style", "maps", `.frame { background-image: url("${data.picture}") }`)); // in a style sheet it is read once for all
  grid.onkeydown = (event) => moveInRows(buttons, event);
  root.replaceChildren(grid);
  buttons.flat()[0].tabIndex = 0; // Tab reaches the grid, arrow keys its cells
  if (place?.row) buttons[place.row]?.[place.column]?.focus({ preventScroll: true });
  light(grid, data.lit, data.size);
  return listen(root, (place) => light(grid, meant(data.lit, placed(place, data.size, data.links)), data.size));
}

// What is lit while a word is pointed at: its own row and column, or with one of those selected, those of all.
function meant(lit, { query, key }) {
  if ((query === undefined && key === undefined) || lit.query.includes(query) || lit.key.includes(key)) return lit;
  return { query: query === undefined ? [] : [query], key: key === undefined ? [] : [key] };
}

// Rows and columns of every small map; neighbours are one band. Edges of many would hide what is between.
function light(grid, lit, size) {
  for (const [axis, way] of [["query", "bottom"], ["key", "right"]]) {
    const at = (index) => `${(100 * index) / size[axis]}%`;
    const first = lit[axis].filter((index) => !lit[axis].includes(index - 1));
    const last = lit[axis].filter((index) => !lit[axis].includes(index + 1));
    const edge = first.length > 1 ? "var(--lit)" : "var(--edge)";
    const stops = first.flatMap((index, band) => {
      const [from, to] = [at(index), `max(${at(last[band] + 1)}, ${at(index)} + 2px)`];
      return [`transparent ${from}`, `${edge} ${from} calc(${from} + 1px)`, `var(--lit) 0 calc(${to} - 1px)`, `${edge} 0 ${to}`, "transparent 0"];
    });
    grid.classList.toggle(`lit-${axis}`, stops.length > 0);
    grid.style.setProperty(`--${axis}`, stops.length ? `linear-gradient(to ${way}, ${stops.join()})` : "none");
  }
}

function button(cell, row, column, { rows, columns }, send) {
  const node = element("button", cell.mark ? "cell on" : "cell");
  node.type = "button";
  node.title = cell.text;
  node.tabIndex = -1;
  Object.assign(node.dataset, { row, column });
  node.setAttribute("aria-label", cell.name);
  node.setAttribute("aria-pressed", Boolean(cell.mark));
  node.style.gridArea = `${row + 2} / ${column + 2}`;
  const frame = element("span", "frame");
  frame.style.backgroundPosition = [column / (columns.length - 1 || 1), row / (rows.length - 1 || 1)].map((share) => `${100 * share}%`).join(" ");
  if (cell.title) frame.append(element("span", "strip top", cell.title), element("span", "strip bottom", cell.caption));
  if (cell.mark) {
    Object.assign(frame.style, { borderColor: cell.mark.color, borderStyle: cell.mark.dash });
    const badge = element("b", "badge", cell.mark.badge);
    Object.assign(badge.style, { background: cell.mark.color, color: cell.mark.text });
    frame.append(badge);
  }
  node.append(frame);
  node.onclick = () => {
    node.classList.add("pressed");
    send(cell);
  };
  return node;
}
