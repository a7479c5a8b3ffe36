// @ts-check
// The address of the page: state that only the browser keeps, and links.

/** @type {Map<string, { value: number | string | null, about: unknown }>} */
const kept = new Map();

/**
 * A number in the address, such as a slider of a drawing. Another page has another address, so it is also remembered
 * here.
 * @param {string} name In the address; no widget has it.
 * @param {number} least
 * @param {number} most
 * @param {unknown} [about] What the remembered number belongs to; it is ignored for anything else.
 * @returns {number | undefined} Undefined where there is none, or one out of range.
 */
export function restored(name, least, most, about) {
  const last = kept.get(name);
  const text = new URLSearchParams(window.location.search).get(name);
  const value = Number(text ?? (last?.about === about ? last?.value : undefined) ?? NaN);
  return Number.isInteger(value) && value >= least && value <= most ? value : undefined;
}

/** @param {string} name @param {number | string | null} value null: remove it. @param {unknown} [about] */
export function keep(name, value, about) {
  kept.set(name, { value, about });
  const address = new URL(window.location.href);
  if (address.searchParams.get(name) === (value === null ? null : String(value))) return;
  if (value === null) address.searchParams.delete(name);
  else address.searchParams.set(name, String(value));
  window.history.replaceState(window.history.state, "", address);
}

/**
 * Go to an address of the app, as its navigation does: without loading the page again.
 * @param {string} address Relative to the app's.
 */
export function openAddress(address) {
  document.querySelector("main")?.focus({ preventScroll: true }); // what was followed goes with its page
  window.history.pushState(null, "", address);
  window.dispatchEvent(new PopStateEvent("popstate", { state: null })); // Streamlit shows the address that is current
}
