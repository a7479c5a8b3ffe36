// @ts-check
// Keyboard access to BertViz, which handles the mouse alone. Tab reaches each group of elements, arrow keys move within
// it, Enter or Space clicks (with Shift: a double click, which shows a head alone), and the focused element is hovered.

/**
 * @typedef {Element & HTMLOrSVGElement & GlobalEventHandlers} Control
 *
 * @typedef {object} Group
 * @property {Control[]} nodes
 * @property {number} [columns]
 * @property {boolean} [hovered] Whether the focus hovers its elements, in place of Enter clicking them.
 * @property {(node: Control, index: number) => string} name
 * @property {(index: number) => boolean} [on] Whether an element is switched on.
 */

const vis = /** @type {Element} */ (document.querySelector("#vis"));

/** @param {Element} node @param {string} type */
const mouse = (node, type) => node.dispatchEvent(new MouseEvent(type));
/** @param {string} selector */
const all = (selector) => /** @type {Control[]} */ ([...vis.querySelectorAll(selector)]);

/** @returns {Group[]} */
function groups() {
  const text = (/** @type {Control} */ node) => node.textContent ?? "";
  const small = all(".attn_background").map(({ parentNode }) => /** @type {Control} */ (parentNode?.lastChild));
  const columns = small.filter((each) => each.getAttribute("y") === small[0].getAttribute("y")).length;
  if (small.length) {
    const name = (/** @type {number} */ index) => `L${1 + Math.floor(index / columns)} H${1 + (index % columns)}`;
    const detail = /** @type {Control[]} */ ([...(vis.querySelector("g.detail")?.childNodes ?? [])]);
    return [
      { nodes: small, columns, name: (_, index) => name(index) },
      { nodes: detail, hovered: true, name: text },
    ];
  }
  const words = (/** @type {string} */ side) => all(`#${side} > g:not(.attentionBoxes) > g`);
  return [
    { nodes: all("svg > g:not([id]) > rect"), name: (_, index) => `Head ${index + 1}`, on: isShown },
    { nodes: words("left"), hovered: true, name: text },
    { nodes: words("right"), hovered: true, name: text },
  ];
}

/** @param {number} head */
function isShown(head) {
  const lines = all(`.headAttention[head-index="${head}"] line`);
  return lines.some((line) => Number(line.getAttribute("stroke-opacity")) > 0);
}

function addKeys() {
  for (const { nodes, columns = 1, hovered = false, name, on } of groups()) {
    const mark = () => nodes.forEach((node, index) => node.setAttribute("aria-pressed", String(on?.(index))));
    nodes.forEach((node, index) => {
      node.setAttribute("role", hovered ? "img" : "button");
      node.setAttribute("aria-label", name(node, index));
      if (!node.hasAttribute("tabindex")) node.setAttribute("tabindex", index ? "-1" : "0");
      node.onfocus = () => hovered && mouse(node, "mouseover");
      node.onblur = () => {
        const outer = node.parentElement?.parentElement;
        if (hovered) for (const each of [node, outer]) if (each) mouse(each, "mouseleave");
      };
      node.onkeydown = (event) => press(event, nodes, index, columns);
      if (on) node.onclick = node.ondblclick = mark;
    });
    if (on) mark();
  }
}

/** @param {KeyboardEvent} event @param {Control[]} nodes @param {number} index @param {number} columns */
function press(event, nodes, index, columns) {
  /** @type {Record<string, number>} */
  const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns };
  const next = nodes[index + steps[event.key]];
  const clicks = event.key === "Enter" || event.key === " ";
  if (clicks) mouse(nodes[index], event.shiftKey ? "dblclick" : "click");
  if (clicks || event.key in steps) event.preventDefault();
  if (!next) return;
  nodes[index].setAttribute("tabindex", "-1");
  next.setAttribute("tabindex", "0");
  next.focus();
}

new MutationObserver(addKeys).observe(vis, { childList: true, subtree: true });
addKeys();
