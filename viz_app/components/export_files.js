// @ts-check
// Files of a picture: SVG with its fonts, PNG of it, PDF of it by the server, and slides.

/** @import { Svg } from "../../core/drawing/svg_file.js" */

import { element } from "../../core/drawing/dom.js";
import { drawnSvg, svgFile } from "../../core/drawing/svg_file.js";
import { paint, rounded } from "../../core/drawing/svg_paint.js";
import { escaped } from "../../core/drawing/svg_text.js";

export const FORMATS = /** @type {const} */ (["SVG", "PDF", "PNG"]);
const SCALE = 2; // pixels of a PNG to one on the page
const MOST_PIXELS = 16_000; // along a side of a PNG: browsers make none that are larger
const LARGEST_FONT = 400_000; // bytes
const [SLIDE_PIXELS, RATIO] = [1920, 9 / 16]; // of a slide: its width as PNG, and its height to its width
const [MARGIN, CAPTION, LINE] = [0.02, 0.017, 1.4]; // of a slide's width; of the size of the caption
const LEAST_SLIDE = 480; // pixels of the page: a small picture is not enlarged beyond this

/**
 * The element whose drawing is a picture of the page.
 * @param {string} key Of the component or container, as Streamlit knows it.
 * @returns {HTMLElement | null}
 */
export function placeOf(key) {
  return document.querySelector(`.st-key-${CSS.escape(key.trim().replaceAll(/[^\w-]/g, "-"))}`);
}

/**
 * @param {HTMLElement} place
 * @param {typeof FORMATS[number]} format
 * @param {string} name Of the file, without suffix.
 * @param {string} [caption] The file is a slide with it.
 */
export async function savePicture(place, format, name, caption) {
  const drawn = await drawnSvg(place);
  const picture = caption === undefined ? drawn : onSlide(drawn, caption);
  const file = `${name}.${format.toLowerCase()}`;
  if (format === "PDF") {
    const answer = await fetch(new URL("pdf", window.location.href), { method: "POST", body: svgFile(picture) });
    if (answer.ok) return save(await answer.blob(), file);
    if (answer.status === 404) return window.print(); // a proxy has no such address
    throw new Error((await answer.text()) || answer.statusText);
  }
  const svg = new Blob([await withFonts(picture)], { type: "image/svg+xml" });
  const scale = caption === undefined ? SCALE : SLIDE_PIXELS / picture.width;
  return save(format === "SVG" ? svg : await rasterised(svg, picture, scale), file);
}

/** @param {Svg} picture @returns {Promise<string>} A file with the fonts that are drawn. */
export async function withFonts(picture) {
  return svgFile(picture, (await fontFaces(picture.content)).join(""));
}

/** @param {string} content @returns {Promise<string[]>} The rules for its fonts, with their files in them. */
async function fontFaces(content) {
  const families = new Set([...content.matchAll(/font-family="(?:&quot;)?([^",&]+)/g)].map(([, family]) => family));
  const faces = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]);
  const found = faces.map(async (rule) => {
    if (!(rule instanceof CSSFontFaceRule)) return "";
    const { style, parentStyleSheet } = rule;
    const family = style.getPropertyValue("font-family").replaceAll(/["']/g, "");
    const [url] = /(?<=url\(["']?)[^"')]+/.exec(style.getPropertyValue("src")) ?? [];
    const slant = style.getPropertyValue("font-style") || "normal";
    if (!url || !families.has(family) || (slant === "italic" && !content.includes('font-style="italic"'))) return "";
    const file = await (await fetch(new URL(url, parentStyleSheet?.href ?? document.baseURI))).blob();
    if (!file.type.includes("font") || file.size > LARGEST_FONT) return "";
    const weight = style.getPropertyValue("font-weight") || "normal";
    const look = `font-family:"${family}";font-weight:${weight};font-style:${slant}`;
    return `@font-face{${look};src:url(${await dataUrl(file)})}`;
  });
  return (await Promise.allSettled(found)).map((each) => (each.status === "fulfilled" ? each.value : ""));
}

/**
 * A picture on a slide of 16:9, in its own size, above its caption.
 * @param {Svg} picture
 * @param {string} caption
 * @returns {Svg}
 */
export function onSlide(picture, caption) {
  const lines = wrapped(caption);
  const free = RATIO - 2 * MARGIN - lines.length * LINE * CAPTION;
  const width = Math.max(LEAST_SLIDE, picture.width / (1 - 2 * MARGIN), picture.height / free);
  const [x, y] = [(width - picture.width) / 2, MARGIN * width + (free * width - picture.height) / 2];
  const size = CAPTION * width;
  const look = `font-family="${escaped(captionFont())}" font-size="${rounded(size)}" text-anchor="middle"`;
  const texts = lines.map((line, index) => {
    const base = RATIO * width - MARGIN * width - size * (LINE * (lines.length - 1 - index) + 0.3);
    return `<text x="${rounded(width / 2)}" y="${rounded(base)}" ${look}${paint("fill", picture.text)}>${escaped(line)}</text>`;
  });
  const content = `<g transform="translate(${rounded(x)} ${rounded(y)})">${picture.content}</g>${texts.join("")}`;
  return { ...picture, width, height: RATIO * width, content };
}

function captionFont() {
  return getComputedStyle(document.body).fontFamily;
}

/** The lines of a caption. @param {string} text */
function wrapped(text) {
  const context = /** @type {CanvasRenderingContext2D} */ (element("canvas").getContext("2d"));
  context.font = `100px ${captionFont()}`;
  const most = ((1 - 4 * MARGIN) / CAPTION) * 100;
  const lines = [""];
  for (const { segment } of new Intl.Segmenter(undefined, { granularity: "word" }).segment(text)) {
    const longer = lines[lines.length - 1] + segment;
    if (context.measureText(longer.trimEnd()).width <= most) lines[lines.length - 1] = longer;
    else lines.push(segment.trimStart());
  }
  return lines.map((line) => line.trim()).filter(Boolean);
}

/** @param {Blob} file @returns {Promise<string>} */
function dataUrl(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}

/** @param {Blob} file @param {Svg} picture @param {number} scale @returns {Promise<Blob>} */
async function rasterised(file, { width, height }, scale) {
  const image = new Image();
  image.src = await dataUrl(file);
  await image.decode();
  const canvas = element("canvas");
  const most = Math.min(scale, MOST_PIXELS / width, MOST_PIXELS / height);
  [canvas.width, canvas.height] = [Math.round(most * width), Math.round(most * height)];
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the browser made no PNG"))), "image/png"),
  );
}

/** @param {Blob} file @param {string} name */
function save(file, name) {
  const link = element("a");
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
