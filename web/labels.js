// @ts-check
// Tokens as the drawings show them; a small version of `label_spans` in core/drawing/drawing_data.py.

/** @import { Span } from "../core/drawing/types" */

import { byteOf } from "./tokenizer.js";

const [SPACE_MARK, JOINT, BLANK] = ["\u2581", "\u00b7", "\u2423"];
const SPECIAL = ["<s>", "</s>", "<pad>"];
const UNSPACED = /^[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uf900-\ufaff]/; // scripts without spaces
const INVISIBLE = /^[\s\p{C}]*$/u;

/** @param {string} token */
export function isSpecial(token) {
  return SPECIAL.includes(token);
}

/** @param {readonly string[]} tokens @returns {Span[][]} Of each. */
export function labels(tokens) {
  const bytes = tokens.map(byteOf);
  return tokens.map((token, at) => {
    if (isSpecial(token)) return [[token, "special"]];
    if (bytes[at] !== undefined) return byteLabel(bytes, at);
    const text = token.replace(SPACE_MARK, "").replaceAll(SPACE_MARK, " ");
    if (INVISIBLE.test(text)) return [[BLANK, "faint"]];
    const continues = !token.startsWith(SPACE_MARK) && /^[\p{L}\p{N}]/u.test(text) && !UNSPACED.test(text);
    return continues
      ? [
          [JOINT, "faint"],
          [text, ""],
        ]
      : [[text, ""]];
  });
}

/**
 * The character that a byte belongs to, and which of its bytes it is.
 * @param {readonly (number | undefined)[]} bytes Of all tokens.
 * @param {number} at
 * @returns {Span[]}
 */
function byteLabel(bytes, at) {
  let start = at;
  while (start > 0 && isContinuation(bytes[start]) && bytes[start - 1] !== undefined) start--;
  let stop = start + 1;
  while (isContinuation(bytes[stop])) stop++;
  const text = new TextDecoder().decode(Uint8Array.from(bytes.slice(start, stop), (byte) => byte ?? 0));
  if (text.includes("\ufffd")) return [[`0x${(bytes[at] ?? 0).toString(16).toUpperCase().padStart(2, "0")}`, ""]];
  if (stop - start === 1) return [INVISIBLE.test(text) ? [BLANK, "faint"] : [text, ""]];
  return [
    [text, ""],
    [` ${at - start + 1}/${stop - start}`, "faint"],
  ];
}

/** @param {number | undefined} byte Of UTF-8. */
function isContinuation(byte) {
  return byte !== undefined && byte >> 6 === 2;
}
