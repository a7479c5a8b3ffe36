// BertViz's drawings answer the mouse alone. Here Tab reaches each group of what answers, arrow keys go from one to the next,
// Enter or Space clicks it (with Shift twice, which shows a head alone), and what has the focus is hovered.

const vis = document.querySelector("#vis");
const mouse = (node, type) => node.dispatchEvent(new MouseEvent(type));
const all = (selector) => [...vis.querySelectorAll(selector)];

function groups() {
  const small = all(".attn_background").map((background) => background.parentNode.lastChild);
  const columns = small.filter((each) => each.getAttribute("y") === small[0].getAttribute("y")).length;
  if (small.length)
    return [
      { nodes: small, columns, name: (_, index) => `Layer ${Math.floor(index / columns)}, head ${index % columns}` },
      { nodes: [...(vis.querySelector("g.detail")?.childNodes ?? [])], hovered: true, name: (node) => node.textContent },
    ];
  return [
    { nodes: all("svg > g:not([id]) > rect"), name: (_, index) => `Head ${index}`, on: (index) => shows(index) },
    ...["left", "right"].map((side) => ({ nodes: all(`#${side} > g:not(.attentionBoxes) > g`), hovered: true, name: (node) => node.textContent })),
  ];
}

const shows = (head) => all(`.headAttention[head-index="${head}"] line`).some((line) => line.getAttribute("stroke-opacity") > 0);

function reach() {
  for (const { nodes, columns = 1, hovered = false, name, on } of groups()) {
    const tell = () => nodes.forEach((node, index) => node.setAttribute("aria-pressed", on(index)));
    nodes.forEach((node, index) => {
      node.setAttribute("role", hovered ? "img" : "button");
      node.setAttribute("aria-label", name(node, index));
      if (!node.hasAttribute("tabindex")) node.setAttribute("tabindex", index ? -1 : 0);
      node.onfocus = () => hovered && mouse(node, "mouseover");
      node.onblur = () => hovered && [node, node.parentNode.parentNode].forEach((each) => mouse(each, "mouseleave"));
      node.onkeydown = (event) => press(event, nodes, index, columns);
      if (on) node.onclick = node.ondblclick = tell;
    });
    if (on) tell();
  }
}

function press(event, nodes, index, columns) {
  const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns };
  const next = nodes[index + steps[event.key]];
  const clicks = event.key === "Enter" || event.key === " ";
  if (clicks) mouse(nodes[index], event.shiftKey ? "dblclick" : "click");
  if (clicks || event.key in steps) event.preventDefault();
  if (!next) return;
  nodes[index].setAttribute("tabindex", -1);
  next.setAttribute("tabindex", 0);
  next.focus();
}

new MutationObserver(reach).observe(vis, { childList: true, subtree: true });
reach();
