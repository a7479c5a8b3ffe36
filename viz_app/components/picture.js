// @ts-check
// A picture of the result of an analysis; a click on a mark of a head is sent to the server.

/** @import { Picture } from "../../core/drawing/pictures.js" */
/** @import { Component } from "./streamlit" */

import { drawPicture } from "../../core/drawing/pictures.js";
import { select } from "./linked_words.js";
import { component } from "./renderer.js";

export default component((/** @type {Component<Picture & { clickable: boolean }>} */ { data, root, setTriggerValue }) =>
  drawPicture(root, data, data.clickable ? (place) => setTriggerValue("place", place) : undefined, select),
);
