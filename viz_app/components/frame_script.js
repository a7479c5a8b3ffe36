// @ts-check
// What only the browser can do for the frame of every page.

/** @import { Component } from "./streamlit" */
/** @import { Links } from "./page_links.js" */
/** @import { Step } from "./tour_lead.js" */

import { language } from "../../core/drawing/texts.js";
import { nameLinks } from "./page_links.js";
import { component } from "./renderer.js";
import { lead } from "./tour_lead.js";
import { translateUploaders } from "./uploader_words.js";

export default component((/** @type {Component<{ links: Links, tour: Step | null }>} */ { data, setTriggerValue }) => {
  const stops = [nameLinks(data.links)];
  if (data.tour) stops.push(lead(data.tour, () => setTriggerValue("leave", true)));
  if (language() !== "en") stops.push(translateUploaders());
  return () => stops.forEach((stop) => stop());
});
