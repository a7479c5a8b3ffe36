// @ts-check
// Frames smaller than their contents: they show on which sides the contents continue, see scrolling.css.

/**
 * Let an element scroll. Its edges fade where there is more of its contents.
 * @param {HTMLElement} box
 */
export function scrolling(box) {
  box.classList.add("scrolling");
  const mark = () => {
    const { clientHeight, clientWidth, offsetHeight, offsetWidth, scrollHeight, scrollLeft, scrollTop, scrollWidth } =
      box;
    box.classList.toggle("above", scrollTop > 0);
    box.classList.toggle("below", scrollTop + clientHeight + 1 < scrollHeight);
    box.classList.toggle("before", scrollLeft > 0);
    box.classList.toggle("after", scrollLeft + clientWidth + 1 < scrollWidth);
    box.style.setProperty("--bar-width", `${offsetWidth - clientWidth}px`);
    box.style.setProperty("--bar-height", `${offsetHeight - clientHeight}px`);
  };
  box.addEventListener("scroll", mark, { passive: true });
  const observer = new ResizeObserver(mark);
  for (const each of [box, ...box.children]) observer.observe(each);
}
