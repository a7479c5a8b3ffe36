// @ts-check
// Texts of Streamlit's file uploaders that no style sheet can replace: names for screen readers, and why a file is refused.
// Whatever Streamlit's script writes in another way stays English.

/** @import { Renderer } from "./streamlit" */
/** @import { Texts } from "../../core/drawing/texts.js" */

import { setTexts, tr } from "../../core/drawing/texts.js";

const NAMED = "aria-label";
const UPLOADER = "[data-testid=stFileUploader]";

/** @type {[english: RegExp, other: (...found: string[]) => string][]} */
const NAMES = [
  [/^Remove ([^]+)$/, (_, name) => tr("Remove {name}", { name })],
  [/^Cancel upload of ([^]+)$/, (_, name) => tr("Cancel upload of {name}", { name })],
  [/^Add files$/, () => tr("Add files")],
  [/^file upload$/, () => tr("Choose a file")],
];

/** @type {[english: RegExp, other: (...found: string[]) => string][]} */
const MESSAGES = [
  [/^Error: $/, () => tr("Error: ")],
  [/File must be (\S+) or smaller\./, (_, most) => tr("The file must have at most {most}.", { most })],
  [/(?<=^|\. )\S* ?files are not allowed\./, () => tr("Files of this type are not accepted.")],
  [/Only one file is allowed\./, () => tr("Only one file is accepted.")],
  [/Unexpected error\. Please try again\./, () => tr("Unexpected error. Please try again.")],
];

/** @typedef {{ english: string, written: string }} Words */

/** @typedef {Map<Attr | Text, Words>} Replaced A name such as "Remove a.txt" may look English in another language. */

/**
 * @param {Replaced} replaced
 * @param {Attr | Text | null} node
 * @param {[RegExp, (...found: string[]) => string][]} texts
 */
function replace(replaced, node, texts) {
  const english = node?.nodeValue;
  if (!node || !english || replaced.get(node)?.written === english) return;
  const written = texts.reduce((text, [pattern, other]) => text.replace(pattern, other), english);
  if (written === english) return;
  node.nodeValue = written;
  replaced.set(node, { english, written });
}

/** @param {Replaced} replaced */
function replaceAll(replaced) {
  for (const node of replaced.keys()) {
    if (!(node instanceof Attr ? node.ownerElement : node)?.isConnected) replaced.delete(node);
  }
  for (const each of document.querySelectorAll(`${UPLOADER} [${NAMED}]`)) {
    replace(replaced, each.getAttributeNode(NAMED), NAMES);
  }
  for (const each of document.querySelectorAll(`${UPLOADER} [role=alert], [data-testid=stTooltipErrorContent]`)) {
    const texts = document.createTreeWalker(each, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) replace(replaced, /** @type {Text} */ (texts.currentNode), MESSAGES);
  }
}

/** @type {Renderer<[texts: Texts]>} */
export default function ({ data: [texts] }) {
  setTexts(texts);
  /** @type {Replaced} */
  const replaced = new Map();
  const observer = new MutationObserver(() => replaceAll(replaced));
  observer.observe(document.body, { subtree: true, childList: true, attributes: true, attributeFilter: [NAMED] });
  replaceAll(replaced);
  return () => {
    observer.disconnect();
    // English again: Streamlit's script writes only what changes.
    for (const [node, { english, written }] of replaced) if (node.nodeValue === written) node.nodeValue = english;
  };
}
