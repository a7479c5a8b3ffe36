// @ts-check
// Texts of the drawings in the language of the visitor; English unless the page that draws them has set others.

/** @typedef {Record<string, string | string[]>} Texts By the English text; a list: for one and for other numbers. */

/** @type {{ own: Texts }} */
const current = { own: {} };

/**
 * Set the texts of the visitor's language.
 * @param {Texts} texts
 */
export function setTexts(texts) {
  current.own = texts;
}

/**
 * A text with values in place of its `{names}`.
 * @param {string} text English; a literal.
 * @param {Record<string, string | number>} [values]
 * @returns {string}
 */
export function tr(text, values = {}) {
  const found = current.own[text] ?? text;
  return withValues(typeof found === "string" ? found : /** @type {string} */ (found.at(-1)), values);
}

/**
 * A text that depends on a number, which stands in place of `{count}`.
 * @param {string} one English for 1; a literal.
 * @param {string} other English for all other numbers; a literal.
 * @param {number} count
 * @param {Record<string, string | number>} [values]
 * @returns {string}
 */
export function trCount(one, other, count, values = {}) {
  const found = current.own[other] ?? [one, other];
  const forms = typeof found === "string" ? [found] : found;
  return withValues(/** @type {string} */ (count === 1 ? forms[0] : forms.at(-1)), { count, ...values });
}

/**
 * @param {string} text
 * @param {Record<string, string | number>} values
 */
function withValues(text, values) {
  return text.replace(/\{(\w+)\}/g, (all, name) => (name in values ? String(values[name]) : all));
}
