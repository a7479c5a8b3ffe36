// @ts-check
// Buttons for the files of a picture of the page, and its slide: the picture alone in the window, with a caption.

/** @import { Component } from "./streamlit" */

import { element } from "../../core/drawing/dom.js";
import { drawnSvg } from "../../core/drawing/svg_file.js";
import { tr } from "../../core/drawing/texts.js";
import { copyButton } from "./copy_button.js";
import { FORMATS, placeOf, savePicture, withFonts } from "./export_files.js";
import { component } from "./renderer.js";

/**
 * @typedef {object} Data
 * @property {string} name Of the files, without suffix.
 * @property {string} picture Key of the component or container that draws the picture.
 * @property {string} caption Of the slide.
 * @property {boolean} shown Whether the address has the slide.
 */

const [EVERY, LONGEST] = [25, 10_000]; // milliseconds of a wait for a picture

/** Slides that were opened or closed here, until the server knows. @type {WeakMap<HTMLElement, boolean>} */
const wanted = new WeakMap();

export default component((/** @type {Component<Data>} */ { data, root, setTriggerValue }) => {
  const slide = root.querySelector("dialog") ?? element("dialog");
  const show = (/** @type {boolean} */ isShown) => {
    wanted.set(root, isShown);
    setTriggerValue("slide", isShown);
    if (isShown) open(slide, data);
    else slide.close();
  };
  const row = element("div", "files");
  row.dataset.picture = data.picture;
  row.append(...fileButtons(data, data.name));
  const button = fileButton(tr("Slide"), tr("This picture fills the window"), async () => show(true));
  row.append(button);
  slide.oncancel = (event) => {
    event.preventDefault();
    show(false);
  };
  slide.onclick = ({ target }) => {
    if (target instanceof Element && target.matches(".close")) show(false);
  };
  if (!slide.isConnected) root.append(row, slide);
  else root.querySelector(":scope > .files")?.replaceWith(row);
  const isKnown = wanted.get(root) ?? data.shown;
  if (isKnown !== data.shown) return;
  wanted.delete(root);
  if (data.shown && !slide.open) open(slide, data);
  else if (!data.shown && slide.open) slide.close();
});

/** @param {Data} data @param {string} name Of the files. @param {string} [caption] They are slides with it. */
function fileButtons(data, name, caption) {
  return FORMATS.map((format) =>
    fileButton(format, tr("Download as {format}", { format }), () =>
      savePicture(/** @type {HTMLElement} */ (placeOf(data.picture)), format, name, caption),
    ),
  );
}

/** @param {string} text @param {string} about @param {() => Promise<void>} act */
function fileButton(text, about, act) {
  const node = element("button", "file", text);
  node.type = "button";
  node.title = about;
  node.onclick = async () => {
    node.disabled = true;
    node.parentElement?.querySelector("[role=alert]")?.remove();
    try {
      await act();
    } catch (error) {
      const message = element("span", "", tr("No file: {reason}", { reason: /** @type {Error} */ (error).message }));
      message.setAttribute("role", "alert");
      node.parentElement?.append(message);
    } finally {
      node.disabled = false;
    }
  };
  return node;
}

/** The place of a picture, once the page is drawn. @param {string} key */
async function drawnPlace(key) {
  const isDrawn = () => placeOf(key) && document.querySelector(".stApp[data-test-script-state=notRunning]");
  for (let waited = 0; waited < LONGEST && !isDrawn(); waited += EVERY) {
    await new Promise((resolve) => setTimeout(resolve, EVERY));
  }
  return placeOf(key);
}

/** @param {HTMLDialogElement} slide @param {Data} data */
async function open(slide, data) {
  const place = await drawnPlace(data.picture);
  if (!place || slide.open) return;
  slide.setAttribute("aria-label", tr("Slide"));
  const close = element("button", "close", "\u00d7");
  close.setAttribute("aria-label", tr("Close"));
  const picture = element("img");
  picture.alt = data.caption;
  const files = element("div", "files");
  files.append(...fileButtons(data, `${data.name}-slide`, data.caption), element("span", "", "16:9"), copyButton());
  slide.replaceChildren(close, picture, element("p", "", data.caption), files);
  slide.showModal();
  const svg = await withFonts(await drawnSvg(place));
  picture.src = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  picture.onload = () => URL.revokeObjectURL(picture.src);
}
