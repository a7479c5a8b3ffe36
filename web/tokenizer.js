// @ts-check
// SentencePiece's byte-pair encoding (Sennrich et al. 2016; Kudo & Richardson 2018) with bytes for rare characters.

const SPACE_MARK = "\u2581"; // a space, at the start of a word's first piece
// eslint-disable-next-line no-control-regex -- of the control characters that `str.split` of Python splits at
const WHITE_SPACE = /[\p{White_Space}\x1c-\x1f]+/u;

export class Tokenizer {
  /** @param {Uint8Array} model A SentencePiece model. */
  constructor(model) {
    const pieces = [...fields(model)].filter(({ number }) => number === 1).map(({ value }) => readPiece(value));
    this.pieces = pieces.map(({ piece }) => piece);
    this.ids = new Map(this.pieces.map((piece, id) => [piece, id]));
    /** Of the pieces that merges may make: the higher, the earlier. */
    this.scores = new Map(pieces.filter(({ type }) => type === 1).map(({ piece, score }) => [piece, score]));
  }

  /** @param {string} text @returns {number[]} */
  encode(text) {
    const words = text
      .replace(/^\ufeff/, "")
      .split(WHITE_SPACE)
      .filter(Boolean); // `normalized` in core
    if (!words.length) return [];
    return this.merged(SPACE_MARK + words.join(SPACE_MARK)).flatMap(
      (piece) => this.ids.get(piece) ?? this.bytes(piece),
    );
  }

  /** The characters that the vocabulary lacks: they are read as bytes. @param {string} text */
  unseen(text) {
    return [...new Set(text)].filter((each) => this.pieces[this.encode(each).at(-1) ?? 0].startsWith("<0x"));
  }

  /** @param {string} piece Not in the vocabulary. */
  bytes(piece) {
    return [...new TextEncoder().encode(piece)].map((byte) => /** @type {number} */ (this.ids.get(spelledByte(byte))));
  }

  /** Merge the best pair of neighbours, the left one of equals, until no pair makes a piece. @param {string} text */
  merged(text) {
    const symbols = [...text];
    const scoreAt = (/** @type {number} */ at) => this.scores.get(symbols[at] + symbols[at + 1]) ?? -Infinity;
    const scores = symbols.map((_, at) => scoreAt(at));
    for (;;) {
      let best = 0;
      for (let at = 1; at < symbols.length - 1; at++) if (scores[at] > scores[best]) best = at;
      if (!(scores[best] > -Infinity)) return symbols;
      symbols.splice(best, 2, symbols[best] + symbols[best + 1]);
      scores.splice(best, 1);
      for (const at of [best - 1, best]) if (at >= 0) scores[at] = scoreAt(at);
    }
  }

  /** @param {readonly number[]} ids Without special tokens. */
  decode(ids) {
    const bytes = ids.flatMap((id) => {
      const byte = byteOf(this.pieces[id]);
      return byte === undefined ? [...new TextEncoder().encode(this.pieces[id])] : [byte];
    });
    return decoded(Uint8Array.from(bytes)).replaceAll(SPACE_MARK, " ").replace(/^ /, "");
  }
}

/**
 * UTF-8 as text. Each byte that is of no character becomes U+FFFD, as in SentencePiece; `TextDecoder` has one for several.
 * @param {Uint8Array} bytes
 */
function decoded(bytes) {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let text = "";
  for (let at = 0; at < bytes.length;) {
    const length = bytes[at] < 0x80 ? 1 : bytes[at] < 0xe0 ? 2 : bytes[at] < 0xf0 ? 3 : 4;
    try {
      text += decoder.decode(bytes.subarray(at, at + length));
      at += length;
    } catch {
      text += "\ufffd";
      at += 1;
    }
  }
  return text;
}

/** @param {number} byte */
function spelledByte(byte) {
  return `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`;
}

/** @param {string} piece @returns {number | undefined} */
export function byteOf(piece) {
  const match = /^<0x([0-9A-F]{2})>$/.exec(piece);
  return match ? parseInt(match[1], 16) : undefined;
}

/** @param {Uint8Array} message `SentencePiece` of sentencepiece_model.proto: piece, score, type. */
function readPiece(message) {
  const found = { piece: "", score: 0, type: 1 };
  for (const { number, value } of fields(message)) {
    if (number === 1) found.piece = new TextDecoder().decode(value);
    if (number === 2) found.score = new DataView(value.slice().buffer).getFloat32(0, true);
    if (number === 3) found.type = value[0];
  }
  return found;
}

/**
 * The fields of a message of Protocol Buffers; that of an integer has its bytes, 7 bits each, the lowest first.
 * @param {Uint8Array} message
 */
function* fields(message) {
  let place = 0;
  const integer = () => {
    let [value, shift] = [0, 0];
    do value |= (message[place] & 127) << (7 * shift++);
    while (message[place++] & 128);
    return value;
  };
  while (place < message.length) {
    const key = integer();
    let start = place;
    if ((key & 7) === 0) integer();
    else {
      const length = (key & 7) === 2 ? integer() : (key & 7) === 5 ? 4 : 8;
      start = place;
      place += length;
    }
    yield { number: key >> 3, value: message.subarray(start, place) };
  }
}
