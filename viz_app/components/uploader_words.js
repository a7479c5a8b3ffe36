// @ts-check
// Texts of Streamlit's file uploaders, which has no option for them. Those that another version changed stay English.

import { tr } from "../../core/drawing/texts.js";

const NAMED = "aria-label";
const UPLOADER = "[data-testid=stFileUploader]";
const ZONE = `${UPLOADER} [data-testid=stFileUploaderDropzone]`;
const TEXTS = [
  `${ZONE} > span p`,
  `${ZONE} [data-testid=stFileUploaderDropzoneInstructions] span`,
  `${ZONE} > input + div:not(:has(button)) span`, // while files are dragged over it
  `${UPLOADER} [role=alert]`,
  "[data-testid=stTooltipErrorContent]",
].join();

/** @type {[english: RegExp, other: (...found: string[]) => string][]} */
const NAMES = [
  [/^Remove ([^]+)$/, (_, name) => tr("Remove {name}", { name })],
  [/^Cancel upload of ([^]+)$/, (_, name) => tr("Cancel upload of {name}", { name })],
  [/^Add files$/, () => tr("Add files")],
  [/^file upload$/, () => tr("Choose a file")],
];

/** @type {[english: RegExp, other: (...found: string[]) => string][]} */
const MESSAGES = [
  [/^Upload$/, () => tr("Upload")],
  [/^(\S+)MB per file$/, (_, most) => tr("{most} MB per file", { most })],
  [/^Drag and drop a file here$/, () => tr("Drag and drop a file here")],
  [/^Drag and drop files here$/, () => tr("Drag and drop files here")],
  [/^Error: $/, () => tr("Error: ")],
  [/File must be (\S+) or smaller\./, (_, most) => tr("The file must have at most {most}.", { most })],
  [/(?<=^|\. )\S* ?files are not allowed\./, () => tr("Files of this type are not accepted.")],
  [/Only one file is allowed\./, () => tr("Only one file is accepted.")],
  [/Unexpected error\. Please try again\./, () => tr("Unexpected error. Please try again.")],
];

/** @typedef {{ english: string, written: string }} Words */

/** @typedef {[node: Attr | Text, texts: [RegExp, (...found: string[]) => string][]]} Place */

/** @returns {Generator<Place>} Where the uploaders of the page have texts, and which. */
function* places() {
  for (const each of document.querySelectorAll(`${UPLOADER} [${NAMED}]`)) {
    const name = each.getAttributeNode(NAMED);
    if (name) yield [name, NAMES];
  }
  for (const each of document.querySelectorAll(TEXTS)) {
    const texts = document.createTreeWalker(each, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) yield [/** @type {Text} */ (texts.currentNode), MESSAGES];
  }
}

/** @param {WeakMap<Attr | Text, Words>} replaced @param {Place} place */
function replace(replaced, [node, texts]) {
  const english = node.nodeValue;
  if (!english || replaced.get(node)?.written === english) return;
  const written = texts.reduce((text, [pattern, other]) => text.replace(pattern, other), english);
  if (written === english) return;
  node.nodeValue = written;
  replaced.set(node, { english, written });
}

/** @returns {() => void} Stops, and brings the English texts back. */
export function translateUploaders() {
  // What was written, also for an element that leaves the page and comes back: the German for "Remove Remove a.txt" is
  // "Remove a.txt entfernen", which looks English.
  /** @type {WeakMap<Attr | Text, Words>} */
  const replaced = new WeakMap();
  const replaceAll = () => {
    for (const place of places()) replace(replaced, place);
  };
  const observer = new MutationObserver(replaceAll);
  observer.observe(document.body, { subtree: true, childList: true, attributes: true, attributeFilter: [NAMED] });
  replaceAll();
  return () => {
    observer.disconnect();
    // English again: Streamlit's script writes only what changes.
    for (const [node] of places()) {
      const words = replaced.get(node);
      if (words && node.nodeValue === words.written) node.nodeValue = words.english;
    }
  };
}
