// @ts-check
// The arrow between a sentence and its translation: it opens the list of the other translations that were found.

import { button, element, restoreFocus } from "../../core/drawing/dom.js";
import { tr } from "../../core/drawing/texts.js";

const ARROW = "\u2192";

/** @typedef {[number: number, text: string]} Choice A translation, and the number by which the server knows it. */

/**
 * @param {Choice[]} choices The best translation first.
 * @param {number} shown Number of the one that is shown.
 * @param {(number: number) => void} choose
 */
export function translationMenu(choices, shown, choose) {
  const place = element("span", "translations");
  const list = element("div", "choices");
  const at = choices.findIndex(([number]) => number === shown);
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", tr("Translations, the best first"));
  const options = choices.map(([number, label]) => option(number, label, number === shown));
  list.append(...options);
  if (choices.length < 2) {
    const arrow = element("span", "arrow", ARROW);
    arrow.setAttribute("aria-hidden", "true");
    list.hidden = true;
    place.append(arrow, list);
    return place;
  }
  const opener = button("arrow", true);
  const text = tr("Other translations: {number} of {count} is shown", { number: at + 1, count: choices.length });
  opener.append(ARROW, element("small", "", `${at + 1}/${choices.length}`));
  opener.title = text;
  opener.dataset.control = "translations";
  opener.setAttribute("aria-label", text);
  opener.setAttribute("aria-haspopup", "listbox");
  place.append(opener, list);

  const open = (/** @type {boolean} */ isOpen) => {
    list.hidden = !isOpen;
    opener.setAttribute("aria-expanded", String(isOpen));
  };
  open(false);
  opener.onclick = () => {
    open(Boolean(list.hidden));
    if (!list.hidden) options[Math.max(at, 0)].focus();
  };
  list.onclick = (event) => {
    const chosen = options.indexOf(/** @type {HTMLButtonElement} */ (event.target));
    if (chosen < 0) return;
    opener.focus();
    open(false);
    if (chosen !== at) choose(choices[chosen][0]);
  };
  place.onkeydown = (event) => {
    if (list.hidden) return;
    if (event.key === "Escape") opener.focus();
    const from = options.findIndex((each) => each.matches(":focus"));
    /** @type {Record<string, number>} */
    const goals = { ArrowDown: from + 1, ArrowUp: from - 1, Home: 0, End: options.length - 1 };
    options[goals[event.key]]?.focus();
    if (event.key in goals || event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
    }
  };
  place.addEventListener("focusout", ({ relatedTarget }) => {
    if (!(relatedTarget instanceof Node) || !list.contains(relatedTarget)) open(false);
  });
  restoreFocus([opener]);
  return place;
}

/** @param {number} number @param {string} label @param {boolean} isShown */
function option(number, label, isShown) {
  const node = button("choice");
  node.dataset.choice = String(number);
  node.setAttribute("role", "option");
  node.setAttribute("aria-selected", String(isShown));
  node.dir = "auto";
  node.textContent = label;
  return node;
}
