// @ts-check
// The colours of a page: scales of weights and of differences, see ramps.css, and their mixtures.

/** @typedef {"ramp" | "diverging" | "greys" | "heads"} Scale */

/** Whether text is light here, as on a dark page. @param {HTMLElement} place Part of a page. */
export function isDark(place) {
  const channels = getComputedStyle(place).color.match(/[\d.]+/g) ?? [];
  const [red = 0, green = 0, blue = 0] = channels.map(Number);
  return 0.299 * red + 0.587 * green + 0.114 * blue > 127;
}

/**
 * The colours of a scale, for a light or a dark page.
 * @param {HTMLElement} place Part of a page.
 * @param {Scale} [scale]
 */
export function pageScale(place, scale = "ramp") {
  const colors = getComputedStyle(place).getPropertyValue(`--${scale}-${isDark(place) ? "dark" : "light"}`);
  return colors.split(",").map((color) => color.trim());
}

/** Red, green and blue of colours. @param {readonly string[]} scale As #rrggbb. */
export function stopsOf(scale) {
  return scale.map((color) => [1, 3, 5].map((start) => parseInt(color.slice(start, start + 2), 16)));
}

/**
 * @param {number[][]} stops As of `stopsOf`.
 * @param {number} share From 0, the first, to 1, the last.
 * @returns {number[]} Red, green and blue.
 */
export function mixed(stops, share) {
  const place = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const [from, to] = [stops[Math.floor(place)], stops[Math.ceil(place)]];
  return from.map((channel, index) => Math.round(channel + (to[index] - channel) * (place % 1)));
}

/**
 * A colour, and black or white as the colour of text on it, whichever has the higher contrast (WCAG 2).
 * @param {number[]} channels Red, green and blue.
 * @returns {[color: string, ink: string]}
 */
export function readable(channels) {
  const [red, green, blue] = channels.map((c) => (c <= 10 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  const luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  return [`rgb(${channels.join(", ")})`, (luminance + 0.05) ** 2 > 0.05 * 1.05 ? "#000000" : "#ffffff"];
}
