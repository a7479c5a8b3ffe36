// @ts-check

import { element } from "../../core/drawing/dom.js";

const SHOWN_FOR = 4000; // milliseconds

/** Show the text of a tapped element that a pointer would show on hover. @param {ShadowRoot} place */
export function showTapped(place) {
  const box = element("div", "tapped");
  box.hidden = true;
  box.setAttribute("role", "status");
  place.append(box);
  let timer = 0;
  place.addEventListener("click", (event) => {
    const { pointerType, clientX, clientY } = /** @type {PointerEvent} */ (event);
    if (pointerType !== "touch") return;
    const texts = event
      .composedPath()
      .filter((each) => each instanceof Element)
      .map((each) => each.getAttribute("title") ?? each.querySelector(":scope > title")?.textContent);
    box.textContent = texts.find(Boolean) ?? "";
    box.hidden = !box.textContent;
    const { offsetWidth, offsetHeight } = box;
    const left = Math.max(8, Math.min(clientX - offsetWidth / 2, window.innerWidth - offsetWidth - 8));
    const above = clientY - offsetHeight - 24; // clear of the finger
    Object.assign(box.style, { left: `${left}px`, top: `${above > 8 ? above : clientY + 24}px` });
    clearTimeout(timer);
    timer = window.setTimeout(() => (box.hidden = true), SHOWN_FOR);
  });
}
