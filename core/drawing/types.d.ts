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
}

export interface Head extends Omit<HeadData, "weights"> {
  /** [Q, K], row by row; NaN where the query cannot attend to the key. */
  weights: Float32Array;
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
