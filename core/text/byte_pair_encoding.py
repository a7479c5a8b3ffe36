"""Byte-pair encoding of words (Sennrich et al. 2016), after Moses' tokenization (Koehn et al. 2007).

All pieces of a word but the last end with `@@`, the notation of subword-nmt.
"""

import unicodedata
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache
from importlib import import_module
from itertools import pairwise
from typing import Any, cast

from core.files.extras import needs
from core.text.traced_text import Step

CONTINUED = "@@"  # ends a piece that the next piece continues
WORD_END = "</w>"  # ends the last symbol of a word in a list of merges
MAX_MERGES = 2**20
MAX_WORD = 1000  # characters; a longer word is split into these, more than a model reads in any case
MOST_NORMALISED = 10_000  # characters; some rules of Moses take quadratic time, and a longer text fits no model
CACHED_WORDS = 10_000


class BytePairEncoding:
    """Splits words into pieces.

    Args:
        merges: pairs of symbols, the first merged first; of equal pairs the first counts. In those of old versions of
            subword-nmt, the end of a word is a symbol of its own.
        vocabulary: the known pieces. Others are split again, as with the option of the same name in
            subword-nmt. None: all pieces are known.
        marks_ends: whether the last symbol of a word ends with `WORD_END`, and pieces with `CONTINUED`.
    """

    def __init__(
        self, merges: Sequence[tuple[str, str]], vocabulary: Collection[str] | None = None, marks_ends: bool = True
    ) -> None:
        self._marks_ends = marks_ends
        self._ranks = {pair: rank for rank, pair in reversed(list(enumerate(merges)))}
        self._vocabulary = vocabulary
        self._parts = {"".join(pair): pair for pair in self._ranks} if vocabulary is not None else {}
        self._end_apart = marks_ends and any(WORD_END in pair for pair in merges)
        self.word_pieces = lru_cache(CACHED_WORDS)(self._word_pieces)

    def _word_pieces(self, word: str) -> tuple[str, ...]:
        """Pieces of a word, which is not empty."""
        symbols = [*word, WORD_END] if self._end_apart else [*word[:-1], word[-1] + WORD_END * self._marks_ends]
        while len(symbols) > 1 and len(word) <= MAX_WORD:
            pairs = set(pairwise(symbols)) & self._ranks.keys()
            if not pairs:
                break
            symbols = _merged(symbols, min(pairs, key=self._ranks.__getitem__))
        if not self._marks_ends:
            return tuple(symbols)
        if symbols[-1] == WORD_END:
            symbols.pop()
        symbols[-1] = symbols[-1].removesuffix(WORD_END)
        if self._vocabulary is not None:
            symbols = list(self._known(symbols, self._vocabulary))
        return (*(symbol + CONTINUED for symbol in symbols[:-1]), symbols[-1])

    def _known(self, symbols: Sequence[str], vocabulary: Collection[str]) -> Iterator[str]:
        """Symbols of a word, those that the vocabulary lacks split again into the parts they were merged from."""
        rest = [(symbol, False) for symbol in symbols]
        rest[-1] = (symbols[-1], True)
        rest.reverse()
        while rest:
            symbol, is_last = rest.pop()
            pair = self._parts.get(symbol + WORD_END if is_last else symbol)
            if pair and pair[1] == WORD_END:
                pair = self._parts.get(symbol)
            if pair is None or (symbol if is_last else symbol + CONTINUED) in vocabulary:
                yield symbol
                continue
            rest += [(pair[1].removesuffix(WORD_END) if is_last else pair[1], is_last), (pair[0], False)]


def _merged(symbols: Sequence[str], pair: tuple[str, str]) -> list[str]:
    """Symbols with every occurrence of a pair merged, from the left."""
    merged: list[str] = []
    index = 0
    while index < len(symbols):
        if tuple(symbols[index : index + 2]) == pair:
            merged.append(pair[0] + pair[1])
            index += 2
        else:
            merged.append(symbols[index])
            index += 1
    return merged


def read_merges(data: bytes) -> list[tuple[str, str]]:
    """Merges of a file of subword-nmt, fastBPE or Hugging Face, one a line, the first merged first.

    Columns after the second, which are counts, are ignored, as is a first line with a version.

    Raises:
        ValueError: it is not UTF-8, has too many lines or a line without two symbols, or its version is unknown.
    """
    lines = data.decode("utf-8-sig").rstrip("\n").split("\n")  # not at other line ends, which may be symbols
    if lines[0].startswith("#version:"):
        version = lines.pop(0).removeprefix("#version:").strip()
        if version not in ("0.1", "0.2"):
            raise ValueError(f"it has version {version!r:.20} of subword-nmt, expected 0.1 or 0.2")
    if len(lines) > MAX_MERGES:
        raise ValueError(f"it has {len(lines)} lines, at most {MAX_MERGES} are read")
    merges: list[tuple[str, str]] = []
    for number, line in enumerate(lines, start=1):
        symbols = line.strip("\r ").split(" ")
        if not 2 <= len(symbols) <= 3 or not symbols[0] or not symbols[1]:
            raise ValueError(f"line {number} of the merges is {line!r:.60}, expected two symbols with a space between")
        merges.append((symbols[0], symbols[1]))
    return merges


def moses_tokenization(language: str, normalise: bool, split_dashes: bool = True) -> list[Step]:
    """Steps of Moses' tokenization, from a text to words with spaces between and special characters escaped.

    Args:
        language: code; the rules of some languages differ.
        normalise: whether punctuation is normalised before, and characters that do not print are removed.
        split_dashes: whether hyphens are split off.
    """
    tokenizer = _moses().MosesTokenizer(language)
    steps: list[Step] = []
    if normalise:
        unicode_rules = _moses().MosesPunctNormalizer.REPLACE_UNICODE_PUNCTUATION
        steps = [*unicode_rules, *moses_normalisation(language), _without_control_characters]

    def tokenize(text: str) -> str:
        words = cast("list[str]", tokenizer.tokenize(text, aggressive_dash_splits=split_dashes, escape=False))
        return " ".join(words)

    return [*steps, tokenize, *cast("list[Step]", tokenizer.MOSES_ESCAPE_XML_REGEXES)]


def moses_normalisation(language: str) -> list[Step]:
    """Steps of Moses' normalisation of punctuation, for a language's code."""
    return [*cast("list[Step]", _moses().MosesPunctNormalizer(language).substitutions), str.strip]


def _without_control_characters(text: str) -> str:
    return "".join(character for character in text if unicodedata.category(character)[0] != "C")


def moses_detokenizer(language: str) -> Callable[[Sequence[str]], str]:
    """The inverse of Moses' tokenization, from words to text."""
    return _moses().MosesDetokenizer(language).detokenize


def _moses() -> Any:
    with needs("scores", "this tokenizer"):
        return import_module("sacremoses")  # here, as it takes half a second
