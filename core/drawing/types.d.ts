// Data that Python hands to the drawings, and what the drawings hand back.

export type Axis = "query" | "key";
export type PerAxis<T> = { query: T; key: T };

/** Text and its class: "" plain, "faint", "special", "fed" or "byte", see drawing_data.py. */
export type Span = [text: string, style: string];
export type Dash = "solid" | "dash" | "dot";

/** A row, a column or, with both, a cell; neither: nothing is pointed at. */
export type Place = { query?: number; key?: number };

export interface HeadData {
  name: string;
  /** Name where the layer is known. */
  short?: string;
  /** Any CSS colour. */
  color: string;
  dash: Dash;
  /** [Q, K], row by row, see `encoded_weights` in drawing_data.py. */
  weights: string;
  /** [Q] or, with parts, [Q, parts], encoded likewise: the weight of each row on hidden tokens; none are hidden without it. */
  hidden?: string | null;
}

export interface Head extends Omit<HeadData, "weights" | "hidden"> {
  /** [Q, K], row by row; NaN where the query cannot attend to the key. */
  weights: Float32Array;
  hidden: Float32Array | null;
}

export interface AxisData {
  query: Span[][];
  key: Span[][];
  /** Decoder rows: the word that each predicts; null for a row that predicts none. */
  predicted: (Span[] | null)[] | null;
  /** Highlighted rows and columns. */
  lit?: PerAxis<number[]>;
  /** Name of the word that each row and column belongs to, "" for none. Only words with a name can be selected. */
  links?: PerAxis<string[]> | null;
  /** Whether the names of the heads are shown. Default true. */
  legend?: boolean;
  /** Whether a click cuts a weight, a row or a column instead of selecting a word. */
  cutting?: boolean;
  /** Rows and columns that are cut, each from its first up to the one after its last; null: all. */
  cuts?: (PerAxis<[number, number] | null> & { head: string })[];
}

export interface LinesData extends AxisData {
  titles: PerAxis<string>;
  heads: HeadData[];
  /** Smaller weights have no line. */
  minWeight: number;
  /** Share of each row's weight that the drawn lines reach together, largest first; null: no limit. */
  topMass?: number | null;
  /** Words whose lines alone are shown while none is pointed at. */
  selected?: [Axis, number][];
  /** Pixels after which the words scroll. */
  height?: number;
}

/** A run of neighbours on an axis, such as the source in a joint map. */
export interface Part {
  name: string;
  start: number;
  stop: number;
  /** Titles before (left, above) and after (right) the words. */
  before: string;
  after: string;
}

export interface MapData extends AxisData {
  heads: [HeadData];
  /** Colours, evenly spaced from weight `low` to 1. */
  scale: readonly string[];
  low: -1 | 0;
  /** Score of an encoded weight of 1, where cells are scores before the softmax. */
  most?: number;
  parts?: PerAxis<Part[]>;
  /** Pairs of parts (by number) without weights, and the reason. */
  blanks?: { query: number; key: number; reason: string }[];
}

/** Keys held down during a click or key press. */
export type Modifiers = { ctrlKey?: boolean; metaKey?: boolean; shiftKey?: boolean };

export interface Events {
  onPoint?(place: Place): void;
  /** A word was clicked, by its name in `links`; "": the selection was cleared. */
  onSelect?(word: string, modifiers: Modifiers): void;
  /** A cell of a map was clicked, of a head by its name. */
  onCell?(place: Place & { head: string }): void;
  /** A weight, a row or a column was cut, of one head by its name or of all that are drawn. */
  onCut?(place: Place & { head?: string }): void;
}

export interface Drawing {
  /** Show a place as if it was pointed at, without calling `onPoint`. */
  highlight(place: Place): void;
  /** Stop observing the page. The elements stay. */
  disconnect(): void;
}

export type Kind = "encoder_self" | "decoder_self" | "cross";
export type Stack = "encoder" | "decoder";

/** The settings of a model that Figure 1 shows, see `model_facts` in figure1.py. */
export interface Figure1Model {
  encoder: Figure1Stack;
  decoder: Figure1Stack;
  dModel: number;
  /** Of the source and of the target. */
  vocabulary: [number, number];
  tied: "all" | "target" | "inputs" | "none";
  /** Where the norms are: after each residual connection, or on the input of each sub-layer. */
  norm: "post" | "pre";
  rms: boolean;
  finalNorm: boolean;
  embeddingNorm: boolean;
  positions: "sinusoidal" | "learned" | "relative";
  activation: string;
  gated: boolean;
}

export interface Figure1Stack {
  layers: number;
  heads: number;
  /** How many of them are drawn in each layer, the first ones. */
  drawn: number;
  dK: number;
  dV: number;
  dFf: number;
}

/** A token of running text. */
export interface Figure1Word {
  spans: Span[];
  /** For screen readers. */
  name: string;
  /** Whether it follows the token before it without a space. */
  glued: boolean;
}

/** One of the most probable next tokens. */
export interface Figure1Option {
  token: string;
  spans: Span[];
  probability: number;
  predicted: boolean;
}

export interface Figure1Maps {
  rows: number;
  columns: number;
  /** Where queries may attend to keys, in blocks: from a row to the one after the last, and so the columns. */
  visible: number[][];
  /** The drawn heads of each layer, see `encoded_map` in figure1.py. */
  layers: string[][];
}

/** The lines of core/paper.py, see `paper_code` in paper_parts.py. */
export interface Figure1Code {
  /** By the `link` of parts of the figure, in the order of their computation. */
  parts: Record<string, { code: string; section: string; steps: string[] }>;
  /** By the names of functions and classes, with what the letters of shapes are, and the first part that it is. */
  sources: Record<string, { lines: string; shapes: Record<string, string>; part: string }>;
}

export interface Figure1Data {
  model: Figure1Model;
  code: Figure1Code;
  source: Figure1Word[];
  fed: Figure1Word[];
  predicted: Figure1Word[];
  /** Of each decoding step. */
  options: Figure1Option[][];
  maps: Record<Kind, Figure1Maps>;
  /** Colours of the weights, evenly spaced from 0 to 1. */
  scale: readonly string[];
  /** Addresses of the pages that explain the parts, with `{names}` of the part and of the chosen tokens. */
  links?: Record<string, string>;
  /** What addresses call each token, in place of the `{names}` in `links`. */
  tokens?: { source: Record<string, string>[]; target: Record<string, string>[] };
  /** Layers drawn large at first, and by Play, counted from 0; by default the last one of each stack. */
  open?: Record<Stack, number>;
}

/** A part of Figure 1 that can have a link; layers and heads are counted from 0. */
export interface Figure1Part {
  /** Its key in `links`. */
  link: string;
  name: string;
  values?: Record<string, string | number>;
}

/** What is chosen in Figure 1, counted from 0. */
export interface Figure1Chosen {
  /** Decoding step. */
  step: number;
  /** Token of the source; -1: none. */
  source: number;
  /** Layers that are drawn with all sub-layers. */
  open: Record<Stack, number[]>;
  /** Part whose lines are shown, by its name or its place in the drawing; "": none yet; undefined: no lines are shown. */
  part?: string;
  /** Stop of Play, by its name; undefined: none is shown. */
  stop?: string;
  /** Whether Play goes on by itself. */
  plays?: boolean;
}

export interface Figure1Events {
  onChoose?(chosen: { step: number; source: number }, change: { step?: number; source?: number }): void;
  onOpen?(open: Record<Stack, number[]>): void;
  /** The lines of another part are shown, or none any more. */
  onCode?(name: string | undefined): void;
  /** Play is at another stop, or goes on, or has paused; undefined: it was left. */
  onPlay?(stop: string | undefined): void;
  /** A link was clicked, without a key that opens another window; without this handler the browser follows it. */
  onFollow?(address: string): void;
}

export interface Figure1Drawing {
  /** The button that begins Play, for the page to place. */
  start: HTMLElement;
  /** Choose a step or a token of the source without calling `onChoose`. */
  choose(change: { step?: number; source?: number }): void;
  /** Draw these layers with all sub-layers, the others folded. */
  open(layers: Record<Stack, number[]>): void;
  chosen(): Figure1Chosen;
  /** Stop observing the page. The elements stay. */
  disconnect(): void;
}

/** How many layers a sketch of a model has. */
export interface SketchData {
  encoder: number;
  decoder: number;
}

/** What is lit in a sketch of a model. */
export interface SketchPlace {
  kinds: readonly Kind[];
  /** Counted from 0; null: all layers. */
  layer: number | null;
  /** Embeddings and positions. */
  inputs: boolean;
  /** Probabilities of the next token. */
  output: boolean;
}
