// @ts-check
// Boxes of a page as shapes of an SVG: their grounds, borders and shadows, and the pixels of images.

/** @import { Area } from "./svg_paint.js" */

import { gradientPaths, inPixels, layers, moved, paint, parsed, pixelPaths, rounded } from "./svg_paint.js";

/**
 * @typedef {object} State What is known while a picture is made.
 * @property {Map<string, HTMLImageElement>} images By address.
 * @property {Map<Element, DOMMatrix>} turned Transforms, which are off while the page is measured.
 * @property {DOMMatrix} matrix Those of the ancestors.
 * @property {Area | null} clip What is visible of the ancestors.
 * @property {number} clips
 * @property {{ left: number, top: number, right: number, bottom: number }} bounds Of all that is drawn.
 */

const SIDES = /** @type {const} */ (["Top", "Right", "Bottom", "Left"]);
const SHARP = ' shape-rendering="crispEdges"'; // no gaps between neighbours

/** Note that something is drawn here. @param {State} state @param {Area} area */
export function grow({ bounds, matrix, clip }, area) {
  const seen = common(clip, moved(area, matrix));
  if (seen.width < 0 || seen.height < 0) return;
  bounds.left = Math.min(bounds.left, seen.left);
  bounds.top = Math.min(bounds.top, seen.top);
  bounds.right = Math.max(bounds.right, seen.left + seen.width);
  bounds.bottom = Math.max(bounds.bottom, seen.top + seen.height);
}

/** @param {Area | null} one null: everything. @param {Area} other @returns {Area} */
export function common(one, other) {
  if (!one) return other;
  const [left, top] = [Math.max(one.left, other.left), Math.max(one.top, other.top)];
  const right = Math.min(one.left + one.width, other.left + other.width);
  const bottom = Math.min(one.top + one.height, other.top + other.height);
  return { left, top, width: right - left, height: bottom - top };
}

/** @param {string} content @param {Record<string, string>} attributes Those that are "" are left out. */
export function grouped(content, attributes) {
  const written = Object.entries(attributes).filter(([, value]) => value);
  if (!content || !written.length) return content;
  return `<g ${written.map(([name, value]) => `${name}="${value}"`).join(" ")}>${content}</g>`;
}

/** @param {State} state @param {string} content @param {Area} area */
export function clipped(state, content, area) {
  if (!content) return "";
  const id = `clip${++state.clips}`;
  return `<clipPath id="${id}">${rectangle(area)}</clipPath>${grouped(content, { "clip-path": `url(#${id})` })}`;
}

/**
 * @param {Area} area
 * @param {string | null} [look] Attributes; null: nothing is to be seen.
 * @param {number} [radius]
 * @param {number} [inset] Pixels that it is smaller on all sides.
 */
export function rectangle({ left, top, width, height }, look = "", radius = 0, inset = 0) {
  if (look === null || width <= 2 * inset || height <= 2 * inset) return "";
  const [x, y] = [left + inset, top + inset].map(rounded);
  const [w, h, r] = [width - 2 * inset, height - 2 * inset, Math.max(0, radius - inset)].map(rounded);
  return `<rect x="${x}" y="${y}" width="${w}" height="${h}"${r ? ` rx="${r}"` : ""}${look}/>`;
}

/**
 * What is drawn of a box below and above its contents.
 * @param {State} state
 * @param {Element} node
 * @param {CSSStyleDeclaration} style
 * @param {DOMRect} whole
 */
export function boxElements(state, node, style, whole) {
  const [below, above] = [/** @type {string[]} */ ([]), /** @type {string[]} */ ([])];
  const boxes = style.display === "inline" ? [...node.getClientRects()] : [whole];
  for (const box of boxes) {
    if (!box.width || !box.height) continue;
    const radius = Math.min(inPixels(style.borderTopLeftRadius, box.width), box.width / 2, box.height / 2);
    const shadows = style.boxShadow === "none" ? [] : layers(style.boxShadow).map((each) => shadow(each, box, radius));
    const drawn = [
      ...shadows.filter(({ inset }) => !inset).map(({ text }) => text),
      ...grounds(state, style, box, radius),
      ...shadows.filter(({ inset }) => inset).map(({ text }) => text),
      ...borders(style, box, radius),
    ].join("");
    if (drawn) grow(state, box);
    below.push(drawn);
    const width = parseFloat(style.outlineWidth);
    if (style.outlineStyle === "none" || !width || node.matches(":focus-visible")) continue;
    const out = -width / 2 - parseFloat(style.outlineOffset);
    above.push(rectangle(box, stroke(style.outlineColor, width, style.outlineStyle), radius && radius - out, out));
  }
  return { below: below.join(""), above: above.join("") };
}

/** Attributes of a line. @param {string} color @param {number} width @param {string} style */
function stroke(color, width, style) {
  const look = paint("stroke", color);
  const dashes = { dashed: [Math.max(3, 2 * width), Math.max(2, width)], dotted: [width, width] };
  const dash = dashes[/** @type {keyof typeof dashes} */ (style)];
  return look && ` fill="none"${look} stroke-width="${width}"${dash ? ` stroke-dasharray="${dash.join(" ")}"` : ""}`;
}

/** @param {CSSStyleDeclaration} style @param {DOMRect} box @param {number} radius */
function borders(style, box, radius) {
  const sides = SIDES.map((side) => ({
    width: style[`border${side}Style`] === "none" ? 0 : parseFloat(style[`border${side}Width`]),
    color: style[`border${side}Color`],
    style: style[`border${side}Style`],
  }));
  const [{ width, color, style: look }] = sides;
  if (sides.every((side) => !side.width)) return [];
  if (sides.every((side) => side.width === width && side.color === color && side.style === look)) {
    return [rectangle(box, stroke(color, width, look), radius, width / 2)];
  }
  return sides.map((side, index) => {
    const line = stroke(side.color, side.width, side.style);
    if (!side.width || !line) return "";
    const half = side.width / 2;
    const [x, y] = [index === 1 ? box.right - half : box.left + half, index === 2 ? box.bottom - half : box.top + half];
    const d = index % 2 ? `M${rounded(x)} ${rounded(box.top)}V${rounded(box.bottom)}` : `M${rounded(box.left)} ${rounded(y)}H${rounded(box.right)}`; // prettier-ignore
    return `<path d="${d}"${line}/>`;
  });
}

/**
 * A sharp shadow: a frame, or a bar at one side; blurred ones are left out.
 * @param {string} value
 * @param {DOMRect} box
 * @param {number} radius
 */
function shadow(value, box, radius) {
  const inset = value.endsWith(" inset");
  const [color] = /^(\w+\(.*?\)|\S+)(?= )/.exec(value) ?? [""];
  const [x, y, blur, spread] = value.slice(color.length).trim().split(" ").map(parseFloat);
  if (blur) return { inset, text: "" };
  if (spread) {
    const out = inset ? spread / 2 : -spread / 2;
    return { inset, text: rectangle(box, stroke(color, spread, "solid"), radius && radius - out + 0, out) };
  }
  const { left, top, right, bottom, width, height } = box;
  const bar = x
    ? { left: x > 0 ? left : right + x, top, width: Math.abs(x), height }
    : { left, top: y > 0 ? top : bottom + y, width, height: Math.abs(y) };
  return { inset, text: inset ? rectangle(bar, paint("fill", color)) : "" };
}

/**
 * The grounds of a box, the lowest first.
 * @param {State} state
 * @param {CSSStyleDeclaration} style
 * @param {DOMRect} box
 * @param {number} radius
 */
function grounds({ images }, style, box, radius) {
  const color = paint("fill", style.backgroundColor);
  const imageOf = (/** @type {string} */ text) => images.get(/^url\("(.*)"\)$/.exec(text)?.[1] ?? "");
  const areas = color && style.maskImage !== "none" ? unmasked(style.maskImage, box) : [box];
  const [mask, size, place] = [style.maskImage, style.maskSize, style.maskPosition].map(
    (each) => layers(each).at(-1) ?? "",
  );
  const opaque = imageOf(mask); // the last layer of a mask, after its bands
  const drawn = areas.map((area) => {
    if (!opaque) return rectangle(area, color, radius);
    const pixels = pixelPaths(opaque, ...shownPart(opaque, tileIn(box, size, place), area));
    return `<path d="${[...pixels.values()].join("")}"${color}${SHARP}/>`;
  });
  if (style.backgroundImage === "none") return drawn;
  const [sizes, places, repeats, origins] = [
    style.backgroundSize,
    style.backgroundPosition,
    style.backgroundRepeat,
    style.backgroundOrigin,
  ].map(layers);
  const of = (/** @type {string[]} */ values, /** @type {number} */ layer) => values[layer % values.length];
  const all = layers(style.backgroundImage).map((image, layer) => {
    const isInner = of(origins, layer) === "padding-box";
    const [top, right, bottom, left] = SIDES.map((side) => (isInner ? parseFloat(style[`border${side}Width`]) : 0));
    const inner = { left: box.left + left, top: box.top + top, width: box.width - left - right, height: box.height - top - bottom }; // prettier-ignore
    const tile = tileIn(inner, of(sizes, layer), of(places, layer));
    const picture = imageOf(image);
    const isGradient = /^(repeating-)?linear-gradient/.test(image);
    const isOnce = of(repeats, layer) === "no-repeat";
    if (picture) return fills(pixelPaths(picture, ...shownPart(picture, tile, box)));
    return isGradient ? fills(tiles(tile, isOnce ? tile : box).reduce((paths, each) => gradientPaths(image, each, paths), new Map())) : ""; // prettier-ignore
  });
  return [...drawn, ...all.reverse()];
}

/** What an image with a size and a position covers, in a box. @param {Area} box @param {string} size @param {string} place */
function tileIn({ left, top, width, height }, size, place) {
  const [across, down = "auto"] = size.split(" ");
  const [x, y] = place.split(" ");
  const tile = { left, top, width, height };
  if (across !== "auto") tile.width = inPixels(across, width);
  if (down !== "auto") tile.height = inPixels(down, height);
  tile.left += x.endsWith("%") ? inPixels(x, width - tile.width) : parseFloat(x);
  tile.top += y.endsWith("%") ? inPixels(y, height - tile.height) : parseFloat(y);
  return tile;
}

/** @param {Map<string, string>} paths By colour. */
function fills(paths) {
  return [...paths].map(([color, d]) => `<path d="${d}"${paint("fill", color)}${SHARP}/>`).join("");
}

/** The places of a repeated tile in a box. @param {Area} tile @param {Area} box */
function tiles(tile, box) {
  const count = (/** @type {number} */ all, /** @type {number} */ one) => Math.max(1, Math.round(all / one) || 1);
  return Array.from({ length: count(box.height, tile.height) }, (_, row) =>
    Array.from({ length: count(box.width, tile.width) }, (_, column) => ({
      ...tile,
      left: tile.left + column * tile.width,
      top: tile.top + row * tile.height,
    })),
  ).flat();
}

/**
 * The part of an image that is seen through a box, in the pixels of the image, and the box.
 * @param {HTMLImageElement} image
 * @param {Area} tile What the whole image covers.
 * @param {Area} box
 * @returns {[from: Area, to: Area]}
 */
function shownPart({ naturalWidth, naturalHeight }, tile, box) {
  const [across, down] = [naturalWidth / tile.width, naturalHeight / tile.height];
  return [
    {
      left: Math.round((box.left - tile.left) * across),
      top: Math.round((box.top - tile.top) * down),
      width: Math.max(1, Math.round(box.width * across)),
      height: Math.max(1, Math.round(box.height * down)),
    },
    box,
  ];
}

/**
 * The parts of a box that all gradients of a mask let through: bands across it.
 * @param {string} masks
 * @param {Area} box
 * @returns {Area[]}
 */
function unmasked(masks, box) {
  let areas = [box];
  for (const mask of layers(masks).filter((each) => !each.startsWith("url"))) {
    const { turn, stripes } = parsed(mask, box);
    const bands = stripes.filter(({ color }) => paint("fill", color));
    const isDown = Math.abs(Math.cos(turn)) > 0.5;
    areas = areas.flatMap((area) =>
      bands.map(({ from, to }) => {
        const band = isDown
          ? { left: box.left, top: box.top + from, width: box.width, height: to - from }
          : { left: box.left + from, top: box.top, width: to - from, height: box.height };
        return common(area, band);
      }),
    );
  }
  return areas;
}

/**
 * A canvas, whose pixels are cells, as shapes; an image as it is.
 * @param {State} state
 * @param {Element} node
 * @param {CSSStyleDeclaration} style
 * @param {Area} box
 */
export function pixelElements(state, node, style, box) {
  const image = node.localName === "img" ? state.images.get(/** @type {HTMLImageElement} */ (node).currentSrc) : null;
  if (!box.width || !box.height || (!image && node.localName === "img")) return "";
  grow(state, box);
  return image
    ? imageElement(image, box, style.imageRendering)
    : cellElements(/** @type {HTMLCanvasElement} */ (node), box);
}

/** @param {HTMLImageElement | HTMLCanvasElement} image @param {Area} to */
export function cellElements(image, to) {
  const [width, height] =
    "naturalWidth" in image ? [image.naturalWidth, image.naturalHeight] : [image.width, image.height];
  return width && height ? fills(pixelPaths(image, { left: 0, top: 0, width, height }, to)) : "";
}

/** @param {HTMLImageElement} image @param {Area} to @param {string} rendering */
function imageElement(image, to, rendering) {
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width: image.naturalWidth, height: image.naturalHeight });
  canvas.getContext("2d")?.drawImage(image, 0, 0);
  const [x, y, w, h] = [to.left, to.top, to.width, to.height].map(rounded);
  const place = `x="${x}" y="${y}" width="${w}" height="${h}" preserveAspectRatio="none" style="image-rendering:${rendering}"`;
  return `<image ${place} href="${canvas.toDataURL()}"/>`;
}
