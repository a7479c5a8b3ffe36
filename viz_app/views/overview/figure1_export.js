// @ts-check
// Figure 1 as a file, made in the browser: SVG and PNG with the fonts of the page. The server turns the SVG into a PDF.

import { figureFile } from "../../../core/drawing/figure1_file.js";

export const FORMATS = /** @type {const} */ (["SVG", "PDF", "PNG"]);
const [SCALE, NAME, LARGEST] = [2, "figure1", 400_000]; // pixels of the PNG to one on the page; bytes of a font
const FAMILIES = ["Source Sans", "Source Code Pro"]; // Streamlit's

/**
 * @param {SVGSVGElement} svg
 * @param {typeof FORMATS[number]} format
 */
export async function exportFigure(svg, format) {
  if (format === "PDF") {
    const answer = await fetch(new URL("pdf", window.location.href), { method: "POST", body: figureFile(svg) });
    if (answer.ok) save(await answer.blob(), format);
    else window.print(); // a proxy has no such address
    return;
  }
  const text = figureFile(svg).replace(/(<svg[^>]*>)/, `$1<style>${(await fontFaces()).join("")}</style>`);
  const file = new Blob([text], { type: "image/svg+xml" });
  save(format === "SVG" ? file : await rasterised(file, svg), format);
}

/** @returns {Promise<string[]>} The rules for the fonts of the page, with their files in them. */
async function fontFaces() {
  const faces = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]);
  const found = faces.map(async (rule) => {
    if (!(rule instanceof CSSFontFaceRule)) return "";
    const { style, parentStyleSheet } = rule;
    const family = style.getPropertyValue("font-family").replaceAll(/["']/g, "");
    const [url] = /(?<=url\(["']?)[^"')]+/.exec(style.getPropertyValue("src")) ?? [];
    if (!url || !FAMILIES.includes(family) || style.getPropertyValue("font-style") === "italic") return "";
    const file = await (await fetch(new URL(url, parentStyleSheet?.href ?? document.baseURI))).blob();
    if (!file.type.includes("font") || file.size > LARGEST) return "";
    const weight = style.getPropertyValue("font-weight") || "normal";
    return `@font-face{font-family:"${family}";font-weight:${weight};src:url(${await dataUrl(file)})}`;
  });
  return (await Promise.allSettled(found)).map((each) => (each.status === "fulfilled" ? each.value : ""));
}

/**
 * @param {Blob} file
 * @returns {Promise<string>}
 */
function dataUrl(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}

/**
 * @param {Blob} file
 * @param {SVGSVGElement} svg
 * @returns {Promise<Blob>}
 */
async function rasterised(file, svg) {
  const image = new Image();
  image.src = await dataUrl(file);
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = SCALE * Number(svg.getAttribute("width"));
  canvas.height = SCALE * Number(svg.getAttribute("height"));
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the browser made no PNG"))), "image/png"),
  );
}

/**
 * @param {Blob} file
 * @param {string} format
 */
function save(file, format) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = `${NAME}.${format.toLowerCase()}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
