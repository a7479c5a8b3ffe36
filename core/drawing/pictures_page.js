// @ts-check
// A result of an analysis as a page: its answer and its pictures.

/** @import { Picture } from "./pictures.js" */

import { element } from "./dom.js";
import { drawPicture } from "./pictures.js";

const page = /** @type {HTMLElement} */ (document.getElementById("page"));
/** @type {{ answer: string, pictures: Picture[] }} */
const { answer, pictures } = JSON.parse(document.getElementById("data")?.textContent ?? "");
page.append(element("p", "answer", answer));
for (const each of pictures) {
  const place = element("div", "picture");
  page.append(element("h2", "", each.name), place);
  drawPicture(place, each);
}
