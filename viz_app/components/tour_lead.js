// @ts-check
// The tour in the browser: it opens the page of a step, scrolls to the part that the step speaks of, and ends by Escape.
// A sentence box that gets the focus is selected whole: what the visitor types replaces the example.

/**
 * @typedef {object} Step
 * @property {string | null} part Selects the part of the page; null: there is none on this page.
 * @property {string | null} focus Selects what is to have the focus; "" for nothing.
 * @property {boolean} follow Whether the page of the step is still to be opened.
 * @property {number} move Number of the change that led to the step.
 */

const GROWS_FOR = 4000; // milliseconds in which a part that is drawn late is scrolled to again
const FREE = "input, textarea, select, [role=dialog], [role=listbox]"; // Escape is theirs

let followed = 0;
let pointed = 0;

/**
 * Lead to a step.
 * @param {Step} step
 * @param {() => void} onLeave
 * @returns {() => void} Stops.
 */
export function lead({ part, focus, follow, move }, onLeave) {
  if (follow && followed !== move) {
    followed = move;
    whenDrawn(() => /** @type {HTMLElement | null} */ (document.querySelector(".st-key-tour a"))?.click());
  }
  if (part && pointed !== move) {
    pointed = move;
    whenDrawn(() => {
      const shown = /** @type {HTMLElement | null} */ (document.querySelector(part));
      if (shown) keepInView(shown);
      const focused = /** @type {HTMLElement | null} */ (focus ? document.querySelector(focus) : null);
      focused?.focus({ preventScroll: true });
      if (focused instanceof HTMLInputElement) focused.select();
    });
  }
  const leave = (/** @type {KeyboardEvent} */ event) => {
    const inside = event.composedPath().some((each) => each instanceof Element && each.matches(FREE));
    if (event.key === "Escape" && !inside && !document.querySelector("[role=dialog]")) onLeave();
  };
  document.addEventListener("keydown", leave);
  return () => document.removeEventListener("keydown", leave);
}

/**
 * Scroll to a part, below the tour, and again when it grows, until the visitor does anything.
 * @param {HTMLElement} part
 */
function keepInView(part) {
  const scroll = () => {
    const top = document.querySelector(".st-key-tour")?.getBoundingClientRect().bottom ?? 0;
    part.style.scrollMarginTop = `${top}px`;
    part.scrollIntoView({ block: "nearest" }); // at its top, if it is higher than the window
  };
  const growth = new ResizeObserver(scroll);
  const stop = () => growth.disconnect();
  growth.observe(part); // calls at once, too
  for (const act of ["wheel", "pointerdown", "keydown"]) document.addEventListener(act, stop, { once: true });
  window.setTimeout(stop, GROWS_FOR);
}

const ASKED_EVERY = 25; // milliseconds
const AT_MOST = 4000;

/**
 * Do something once the server has drawn the whole page: before, boxes may have the values that they had before the
 * click, and a link to another page would send these back.
 * @param {() => void} act
 */
function whenDrawn(act) {
  const since = performance.now();
  const timer = window.setInterval(() => {
    const isDrawn = document.querySelector(".stApp[data-test-script-state=notRunning]");
    if (!isDrawn && performance.now() - since < AT_MOST) return;
    window.clearInterval(timer);
    act();
  }, ASKED_EVERY);
}
