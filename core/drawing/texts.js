// @ts-check
// Texts of the drawings in the language of the visitor; English unless the page that draws them has set others.

/**
 * @typedef {object} Texts
 * @property {string} language Its code.
 * @property {Record<string, string | Record<string, string>>} texts By the English text, that for 1; of one that depends
 *   on a number the forms by the category of `Intl.PluralRules`.
 */

/** @type {Texts} */
const current = { language: "en", texts: {} };

/** Set the texts of the visitor's language. @param {Texts} texts */
export function setTexts(texts) {
  Object.assign(current, texts);
}

/** @returns {string} The code of the visitor's language. */
export function language() {
  return current.language;
}

/**
 * A text with values in place of its `{names}`.
 * @param {string} text English; a literal.
 * @param {Record<string, string | number>} [values]
 * @returns {string}
 */
export function tr(text, values = {}) {
  return withValues(/** @type {string} */ (current.texts[text] ?? text), values);
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
  const own = /** @type {Record<string, string> | undefined} */ (current.texts[one]);
  const category = new Intl.PluralRules(own ? current.language : "en").select(count);
  return withValues((own ?? { one, other })[category] ?? other, { count, ...values });
}

/** @param {string} text @param {Record<string, string | number>} values */
function withValues(text, values) {
  return text.replace(/\{(\w+)\}/g, (all, name) => (name in values ? String(values[name]) : all));
}
