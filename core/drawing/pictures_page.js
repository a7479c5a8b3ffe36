// @ts-check
// A result of an analysis as a page: its answer and its pictures.

/** @import { Picture } from "./pictures.js" */

import { element } from "./dom.js";
import { drawPicture } from "./pictures.js";

const page = /** @type {HTMLElement} */ (document.getElementById("page"));
/** @type {{ answer: string, pictures: Picture[], texts: string[][], links: string[] }} See PicturePage. */
const { answer, pictures, texts, links } = JSON.parse(document.getElementById("data")?.textContent ?? "");
page.append(element("p", "answer", answer));
for (const [number, each] of pictures.entries()) {
  const place = element("div", "picture");
  page.append(element("h2", "", each.name), ...(texts[number] ?? []).map((text) => element("p", "", text)), place);
  drawPicture(place, each);
  if (links[number]) page.append(Object.assign(element("a", "", "Open in the app"), { href: links[number] }));
}
