// @ts-check
// Frames smaller than their contents: they show on which sides the contents continue, see scrolling.css. Tab reaches
// those in which it reaches nothing else, for arrow keys to scroll them.

/** Let an element scroll. Its edges fade where there is more of its contents. @param {HTMLElement} box */
export function scrolling(box) {
  box.classList.add("scrolling");
  const mark = () => {
    const { clientHeight, clientWidth, offsetHeight, offsetWidth, scrollHeight, scrollLeft, scrollTop, scrollWidth } =
      box;
    box.classList.toggle("above", scrollTop > 0);
    box.classList.toggle("below", scrollTop + clientHeight + 1 < scrollHeight);
    box.classList.toggle("before", scrollLeft > 0);
    box.classList.toggle("after", scrollLeft + clientWidth + 1 < scrollWidth);
    const overflows = scrollHeight > clientHeight + 1 || scrollWidth > clientWidth + 1;
    if (overflows && !box.querySelector("button, [tabindex]")) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
    box.style.setProperty("--bar-width", `${offsetWidth - clientWidth}px`);
    box.style.setProperty("--bar-height", `${offsetHeight - clientHeight}px`);
  };
  box.addEventListener("scroll", mark, { passive: true });
  const observer = new ResizeObserver(mark);
  for (const each of [box, ...box.children]) observer.observe(each);
}

const [AGAIN, DRAWN] = [100, 4000]; // milliseconds between scrolls, and until all of a page is drawn

/** Scroll to a part of a page again and again while the page is drawn, until the reader acts. @param {() => void} scroll */
export function scrollWhileDrawn(scroll) {
  const timer = window.setInterval(scroll, AGAIN);
  const stop = () => window.clearInterval(timer);
  for (const act of ["wheel", "pointerdown", "keydown"]) document.addEventListener(act, stop, { once: true });
  window.setTimeout(stop, DRAWN);
}
