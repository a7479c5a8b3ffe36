// @ts-check
// What only the browser can do for the frame of every page.

/** @import { Component } from "./streamlit" */
/** @import { Links } from "./page_links.js" */

import { scrollWhileDrawn } from "../../core/drawing/scrolling.js";
import { language } from "../../core/drawing/texts.js";
import { nameLinks } from "./page_links.js";
import { component } from "./renderer.js";
import { translateUploaders } from "./uploader_words.js";

let reached = "";

export default component((/** @type {Component<Links & { part?: string, move?: string }>} */ { data }) => {
  const { part, move = "" } = data;
  if (part && reached !== move)
    scrollWhileDrawn(() => document.querySelector(part)?.scrollIntoView({ block: "nearest" }));
  if (part) return void (reached = move);
  const stops = [nameLinks(data)];
  if (language() !== "en") stops.push(translateUploaders());
  return () => stops.forEach((stop) => stop());
});
