// @ts-check
// What Streamlit's page links lack: which of them leads to where one is, and what a group of them is for.

/**
 * @typedef {object} Links
 * @property {string} current Address of the view that is shown; "" for the first.
 * @property {Record<string, string>} groups Names of the groups of links, by the keys of their containers.
 */

/** Name the groups of links, and mark the current ones. @param {Links} links @returns {() => void} Stops. */
export function nameLinks({ current, groups }) {
  const boxes = Object.entries(groups).flatMap(([key, name]) => {
    const box = document.querySelector(`.st-key-${key}`);
    box?.setAttribute("role", "navigation");
    box?.setAttribute("aria-label", name);
    return box ?? [];
  });
  const markAll = () => {
    for (const link of boxes.flatMap((box) => [...box.querySelectorAll("a")])) mark(link, current);
  };
  const observer = new MutationObserver(markAll);
  for (const box of boxes) observer.observe(box, { subtree: true, childList: true, attributeFilter: ["href"] });
  markAll();
  return () => observer.disconnect();
}

/** @param {HTMLAnchorElement} link @param {string} current */
function mark(link, current) {
  // That of the first page is empty in Streamlit: opened in a new tab, it would lead to where one is.
  if (link.getAttribute("href") === "") link.setAttribute("href", "./");
  const name = link.getAttribute("href") === "./" ? "" : link.getAttribute("href");
  if (name === current) link.setAttribute("aria-current", "page");
  else link.removeAttribute("aria-current");
}
