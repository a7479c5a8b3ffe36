// @ts-check
// The lines of core/paper.py that a part of Figure 1 is, below the figure, with the shapes of this model and sentence.

/** @import { Drawn, State } from "./figure1.js" */
/** @import { Figure1Code, Figure1Data, Figure1Part } from "./types" */

import { button, control, element, isolated } from "./dom.js";
import { addressOf, isInEncoder, partOf } from "./figure1_links.js";
import { tr } from "./texts.js";

const NOTE = String.raw`"""[\s\S]*?"""|#.*`;

/**
 * @param {State} state
 * @param {boolean} open
 * @param {() => void} redraw Draws the figure and the lines for `state.part`.
 */
export function codePanel(state, open, redraw) {
  const { data, events } = state;
  const node = control(element("details", "code"));
  const [about, lines] = [element("p"), element("pre")];
  node.append(element("summary", "", tr("Code of a part")), about, lines);
  node.open = open;
  lines.tabIndex = 0; // it scrolls
  /** @param {string} part Its key, or its name. */
  const choose = (part) => {
    [state.part, node.open] = [part, true];
    redraw();
    const { name, place } = explained(state);
    events.onCode?.(name);
    if (place) place.style.scrollMargin = `60px 0 ${(node.parentElement ?? node).offsetHeight + 8}px`; // the lines may stand in front of it
    place?.scrollIntoView({ block: "nearest" });
  };
  /** @param {string} name */
  const lead = (name) => {
    choose(nearest(state, name));
    lines.focus();
  };
  node.ontoggle = () => {
    if (node.open && data.code.parts[state.part]) return choose(nearest(state, state.part)); // from an address
    redraw();
    events.onCode?.(node.open ? explained(state).name : undefined);
  };
  /** @returns {SVGElement | undefined} The part in the figure. */
  const show = () => {
    const { name, part, place } = explained(state);
    const known = data.code.parts[name];
    lines.hidden = !known;
    about.replaceChildren(tr("Click a part of the figure: here are its lines of core/paper.py."));
    if (!known || !node.open) return undefined;
    const section = tr("Section {number}", { number: known.section });
    const of = { link: name, name: "", ...part, values: { ...part?.values, section: known.section } };
    const titles = { [name]: part?.name ?? known.code, step: tr("Step by step"), section };
    const labels = Object.entries(titles).map(([link, title]) => {
      const address = data.links?.[link] ? addressOf(data, of, state.step, state.source, link) : "";
      if (!address) return isolated(link === "step" ? "" : title);
      return Object.assign(element("a", "", title), { href: address });
    });
    about.replaceChildren(...labels);
    lines.replaceChildren(...linked(shapes(data, known.code, part), data.code, lead));
    return place;
  };
  return { node, show, choose };
}

/** The part whose lines are shown: in the figure, if it is drawn there. @param {State} state */
function explained({ data, drawn, part: shown, step }) {
  const part = (/** @type {Drawn} */ { item }) => partOf(data, item, step);
  const found = drawn.find(({ key }) => key === shown) ?? drawn.find((each) => part(each)?.link === shown);
  return { name: (found && part(found)?.link) ?? shown, part: found && part(found), place: found?.node };
}

/**
 * The key of a part of this name, of the same sub-layer, layer or stack as the one that is shown, if it is drawn there.
 * @param {State} state
 * @param {string} name
 */
function nearest(state, name) {
  const here = explained(state).part?.values ?? {};
  const alike = (/** @type {Drawn} */ { item }) =>
    ["stack", "layer", "kind"].filter((each) => item.part?.values?.[each] === here[each]).length;
  const all = state.drawn.filter(({ item }) => item.part?.link === name);
  return all.toSorted((one, other) => alike(other) - alike(one))[0]?.key ?? name;
}

/**
 * The lines of a part, below a comment on what the letters of their shapes are.
 * @param {Figure1Data} data
 * @param {string} name In core/paper.py.
 * @param {Figure1Part | undefined} part
 */
function shapes({ model, source, fed, code }, name, part) {
  const isEncoder = isInEncoder(part);
  const { heads, dK, dFf } = model[isEncoder ? "encoder" : "decoder"];
  const [S, T] = [source.length, fed.length];
  const L = isEncoder ? S : T;
  const K = part?.values?.kind === "cross" ? S : L;
  /** @type {Record<string, number>} */
  const sizes = { B: 1, S, T, L, Q: L, K, H: heads, D: model.dModel, F: dFf, E: dK, V: model.vocabulary[1] };
  const { lines, shapes } = code.sources[name];
  const here = Object.entries(shapes).map(([letter, about]) => `${letter} ${sizes[letter]} ${about}`);
  return here.length ? `# ${here.join(", ")}\n${lines}` : lines;
}

/**
 * Lines in which comments step back, and names of parts lead to these.
 * @param {string} lines
 * @param {Figure1Code} code
 * @param {(name: string) => void} lead
 */
function linked(lines, { sources }, lead) {
  const names = `(?<![\\w.]|class |def )(?:${Object.keys(sources).join("|")})\\b`;
  return lines.split(new RegExp(`(${NOTE}|${names})`)).map((piece, index) => {
    if (!(index % 2)) return piece;
    if (!sources[piece]) return element("span", "faint", piece);
    const link = button("", true);
    link.textContent = piece;
    link.onclick = () => lead(sources[piece].part);
    return link;
  });
}
