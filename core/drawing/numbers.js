// @ts-check
// Numbers of the drawings as the visitor's language writes them.

import { language } from "./texts.js";

/** @type {Map<string, Intl.NumberFormat>} */
const formats = new Map();

/**
 * A number as text, with a minus sign rather than a hyphen.
 * @param {number} value
 * @param {number} digits After the decimal mark.
 * @param {Intl.NumberFormatOptions["signDisplay"]} [sign] Which numbers have one.
 * @returns {string}
 */
export function decimal(value, digits, sign = "auto") {
  const key = `${language()} ${digits} ${sign}`;
  let format = formats.get(key);
  if (!format) {
    const places = { minimumFractionDigits: digits, maximumFractionDigits: digits };
    format = new Intl.NumberFormat(language(), { ...places, signDisplay: sign });
    formats.set(key, format);
  }
  return format.format(value).replace("-", "\u2212");
}

/**
 * A number as text with four digits that count, as a share in percent; a large one with a unit, as in 13.1M.
 * @param {number} value
 * @param {boolean} [isShare]
 * @returns {string}
 */
export function significant(value, isShare = false) {
  const style = isShare ? "percent" : "decimal";
  const notation = Math.abs(value) < 1e5 ? "standard" : "compact";
  const format = new Intl.NumberFormat(language(), { style, notation, maximumSignificantDigits: 4 });
  return format.format(value).replace("-", "\u2212");
}
