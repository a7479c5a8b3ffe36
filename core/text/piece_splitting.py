"""Texts to pieces of a `DictionaryTokenizer`, and back, according to its settings and files.

A text is prepared as words with spaces between, and these are split.
"""

import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, cast

from core.text.byte_level_encoding import ByteLevelEncoding, bytes_of_piece
from core.text.byte_pair_encoding import (
    CONTINUED,
    MOST_NORMALISED,
    BytePairEncoding,
    moses_detokenizer,
    moses_normalisation,
    moses_tokenization,
    read_merges,
)
from core.text.byte_pieces import MASK
from core.text.tokenizer import SPACE_MARK, load_sentencepiece, sentencepiece_surfaces
from core.text.tokenizer_files import naming
from core.text.traced_text import Step

MERGES, SENTENCEPIECE = "merges.txt", "sentencepiece.model"
OF_TARGET = "target-"  # begins the name of a file of merges or a SentencePiece model of the target alone
WORDS, CHARACTERS = "words", "characters"  # values of the setting `split`
SpelledPiece = tuple[str, bytes]  # a piece, and the bytes of the text that it spells


def word_functions(
    settings: Mapping[str, Any], language: str, moses_by_default: bool
) -> tuple[list[tuple[list[Step], float]], Callable[[str], str]]:
    """Steps from a text to its words with spaces between, with the most characters of each, and a function back."""
    moses = settings.get("moses", moses_by_default) is True
    normalise, unicode_normalise = settings.get("normalise") is True, settings.get("unicode_normalise") is True
    lower_case, lower_case_words = settings.get("lower_case") is True, settings.get("lower_case_words") is True
    detokenize = moses_detokenizer(language) if moses else " ".join
    steps: list[tuple[list[Step], float]] = [([str.lower] * lower_case, math.inf)]
    if unicode_normalise:
        nfkc = partial(unicodedata.normalize, "NFKC")
        steps.append(([nfkc, lambda text: text.translate(_QUOTES), _without_surplus_spaces], math.inf))
        steps.append((moses_normalisation("en") if moses else [], MOST_NORMALISED))
    if moses:
        tokenization = moses_tokenization(language, normalise, settings.get("split_dashes") is not False)
        steps.append((tokenization, MOST_NORMALISED))
    steps.append(([str.lower] * lower_case_words, math.inf))

    def restore(text: str) -> str:
        text = detokenize(text.split()) if moses else text
        return _without_surplus_spaces(text) if unicode_normalise else text

    return steps, restore


_QUOTES = str.maketrans({"\u2019": "'", "\u201c": '"', "\u201d": '"'})


def _without_surplus_spaces(text: str) -> str:
    """The text without repeated spaces, and without those before punctuation."""
    text = re.sub("[ \u3000]+", " ", text.replace("\u200b", ""))
    return re.sub(r" ([?!,.:])", r"\1", text).strip()


PieceFunctions = tuple[Callable[[str], list[SpelledPiece]], Callable[[list[str]], str], Callable[[str], bytes]]


def piece_functions(
    files: Mapping[str, bytes], settings: Mapping[str, Any], is_target: bool, ids: Mapping[str, int]
) -> PieceFunctions:
    """Functions from words with spaces between to pieces, back, and from a piece to what it adds to such a text.

    With the setting `mask`, `MASK` in a text is a piece of its own, to which the spaces before it belong.

    Raises:
        ValueError: a file is unusable, or there is none, or more than one way to split words.
    """
    split, join, surface = _unmasked_functions(files, settings, is_target, ids)
    if settings.get("mask") is not True:
        return split, join, surface

    def with_masks(text: str) -> list[SpelledPiece]:
        *before, last = text.split(MASK)
        parts = [[*split(part.rstrip()), (MASK, MASK.encode())] for part in before]
        return [piece for part in (*parts, split(last)) for piece in part]

    return with_masks, join, surface


def _unmasked_functions(
    files: Mapping[str, bytes], settings: Mapping[str, Any], is_target: bool, ids: Mapping[str, int]
) -> PieceFunctions:
    kind = settings.get("split")
    if sum((MERGES in files, SENTENCEPIECE in files, kind in (WORDS, CHARACTERS))) != 1:
        raise ValueError(f"one of {MERGES}, {SENTENCEPIECE} and a split into words or characters is missing")
    name = next((name for name in (MERGES, SENTENCEPIECE) if name in files), "")
    if is_target and OF_TARGET + name in files:
        name = OF_TARGET + name
    if kind == CHARACTERS:
        return _characters, lambda pieces: "".join(pieces).replace(SPACE_MARK, " "), _spaced
    if kind == WORDS:
        return lambda text: [(word, word.encode()) for word in text.split()], _joined, _of_word
    with naming(name):
        if SENTENCEPIECE in files:
            processor = load_sentencepiece(files[name])

            def split(text: str) -> list[SpelledPiece]:
                pieces = cast("list[str]", processor.encode(text, out_type=str))
                return list(zip(pieces, sentencepiece_surfaces(pieces), strict=True))

            join = cast("Callable[[list[str]], str]", processor.decode_pieces)
            return split, join, lambda piece: sentencepiece_surfaces([piece])[0]
        if settings.get("byte_level") is True:
            encoding = ByteLevelEncoding(read_merges(files[name]))
            return encoding.split, encoding.join, bytes_of_piece
        merges = BytePairEncoding(read_merges(files[name]), ids if settings.get("only_known") is True else None)
    return lambda text: [piece for word in text.split() for piece in _merged_pieces(merges, word)], _joined, _of_word


def _characters(text: str) -> list[SpelledPiece]:
    return [(character.replace(" ", SPACE_MARK), character.encode()) for character in text]


def _spaced(piece: str) -> bytes:
    return piece.replace(SPACE_MARK, " ").encode()


def _of_word(piece: str) -> bytes:
    """The bytes of a piece of a word, with a space behind the last one."""
    return (piece.removesuffix(CONTINUED) if piece.endswith(CONTINUED) else f"{piece} ").encode()


def _merged_pieces(merges: BytePairEncoding, word: str) -> Iterator[SpelledPiece]:
    *continued, last = merges.word_pieces(word)
    yield from ((piece, piece.removesuffix(CONTINUED).encode()) for piece in continued)
    yield last, last.encode()


def _joined(pieces: list[str]) -> str:
    """Words with spaces between, from pieces; `CONTINUED` at a piece's end means that the next continues its word."""
    return " ".join(b"".join(map(_of_word, pieces)).decode().split())
