"""Tokens, heads and weights in the form that the drawings take, see `types.d.ts`.

The browser sets tokens as text, never as HTML.
"""

import base64
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from core.analysis.tokens.words import JOINT, continues_word, readable, word
from core.capture import AttentionMap
from core.text.byte_pieces import BLANK, BytePiece, bytes_of, is_special
from core.text.phrases import marked
from core.trace import KIND_NAMES as KIND_NAMES
from core.trace import Kind

FED_ARROW = "\u25b8"
FED_PREDICTS = marked("fed \u25b8 predicts")
KIND_TEXTS: dict[Kind, str] = {
    "encoder_self": marked("each source token attends to the source"),
    "decoder_self": marked("each target token attends to the target before it"),
    "cross": marked("each target token attends to the source"),
}
TITLES: dict[Kind, tuple[str, str]] = {
    "encoder_self": (marked("source, attends"), marked("source, attended to")),
    "decoder_self": (FED_PREDICTS, marked("fed, attended to")),
    "cross": (FED_PREDICTS, marked("source, attended to")),
}
STEPS = 2**15 - 1  # an encoded weight of 1
MAX_CELL = 48  # positions drawn along a side of a small map; longer sentences are reduced
NO_WEIGHT = -(2**15)  # encodes NaN: a query that cannot attend to the key, which is no weight of 0

# text and style: "" plain, "faint" a mark, "special" a special token, "fed" input, "byte" the number of a byte
Span = tuple[str, str]


def attention_data(
    attention: AttentionMap, heads: Sequence[tuple[int, Mapping[str, str]]], translate: Callable[[str], str] = str
) -> dict[str, Any]:
    """Return a drawing's words and heads, see `AxisData` and `HeadData`; heads, from 0, have names, colour and dashes.

    Raises:
        ValueError: The layer has no such head.
    """
    for head, _ in heads:
        if not 0 <= head < attention.num_heads:
            raise ValueError(
                f"layer {attention.layer + 1} has {attention.num_heads} heads, there is no head {head + 1}"
            )
    weights = shown_weights(attention)
    encoded = [
        {**style, "weights": encoded_weights(weights[head]), "hidden": encoded_hidden(attention, head)}
        for head, style in heads
    ]
    return {**axis_words(attention, translate), "heads": encoded}


def axis_words(attention: AttentionMap, translate: Callable[[str], str] = str) -> dict[str, Any]:
    """Return the tokens of a drawing, see `AxisData`, with its titles in the visitor's language by `translate`.

    Returns:
        `query` and `key`: the spans of each row's and each column's word; `predicted`: in the decoder, the spans of the
        word that each row predicts, else None; `titles`: the meaning of each axis.
    """
    query_title, key_title = TITLES[attention.kind]
    return {
        "query": [label_spans(token) for token in attention.query_tokens],
        "key": [label_spans(token) for token in attention.key_tokens],
        "predicted": attention.predicted_tokens and [label_spans(token) for token in attention.predicted_tokens],
        "titles": {"query": translate(query_title), "key": translate(key_title)},
    }


def shown_weights(attention: AttentionMap) -> Tensor:
    """Return the weights of a map, NaN where the query may not attend to the key: [H, Q, K]."""
    return attention.weights.masked_fill(~attention.visible, torch.nan)


def encoded_hidden(attention: AttentionMap, head: int) -> str | None:
    """Encode the weight of each row of a head on hidden tokens; None if none are hidden."""
    return None if attention.hidden is None else encoded_weights(attention.hidden[head])


def encoded_weights(weights: Tensor) -> str:
    """Encode weights as little-endian 16-bit integers in base64, row by row; `weights.js` decodes it.

    They are from -1 to 1, of any shape, in steps of 1/32767: each is off by less than 0.00002. NaN stands for no
    weight; other values are clipped.
    """
    steps = np.rint(np.clip(weights.double().numpy(), -1, 1) * STEPS)
    return base64.b64encode(np.nan_to_num(steps, nan=NO_WEIGHT).astype("<i2").tobytes()).decode()


def reduced(weights: NDArray[np.float32], axis: int) -> NDArray[np.float32]:
    """Reduce an axis to at most `MAX_CELL` positions by maxima, so that thin diagonals stay; NaN only of NaN."""
    size = weights.shape[axis]
    if size <= MAX_CELL:
        return weights
    return np.fmax.reduceat(weights, np.arange(MAX_CELL) * size // MAX_CELL, axis=axis)


def label_spans(token: str) -> list[Span]:
    """Return the spans of one token.

    A token that continues a word begins with a faint joint mark; special tokens have their own style.
    """
    return list(_known_spans(token) if type(token) is str else _label_spans(token))


@lru_cache(maxsize=2**14)  # a page draws the same tokens in each picture; those of other types are not only text
def _known_spans(token: str) -> tuple[Span, ...]:
    return _label_spans(token)


def _label_spans(token: str) -> tuple[Span, ...]:
    text = readable(token)
    if is_special(token):
        return ((text, "special"),)
    if isinstance(token, BytePiece) and token.num_bytes > 1:
        character, _, which = text.rpartition(" ")
        return (character, ""), (f" {which}", "faint")
    if text.startswith(JOINT) and continues_word(token):
        return (JOINT, "faint"), (text.removeprefix(JOINT), "")
    return ((text, "faint" if text == BLANK else ""),)


def run_spans(token: str) -> list[Span]:
    """Return the spans of one token within running text, without a joint mark.

    A character of several bytes appears once, its other bytes as small numbers.
    """
    if isinstance(token, BytePiece) and token.spells:
        return [(str(token.number), "byte")] if token.number > 1 else label_spans(token)[:1]
    return [span for span in label_spans(token) if span != (JOINT, "faint")]


def unit_spans(tokens: Sequence[str]) -> list[Span]:
    """Return the spans of each grapheme's tokens, with the text that bytes and accents spell; see `grapheme_groups`."""
    if len(tokens) == 1 and bytes_of(tokens[0]) is None:
        return label_spans(tokens[0])
    return [*([(JOINT, "faint")] if continues_word(tokens[0]) else []), (str(word(tokens)), "")]


def spoken(token: str) -> str:
    """Return a token's name for screen readers, without a joint mark; a byte's names the character it belongs to."""
    if isinstance(token, BytePiece) and token.num_bytes > 1:
        part, code = f"byte {token.number} of {token.num_bytes}", token[1:-1]
        return f"{token.spells}, {part}, {code}" if token.spells else f"{code}, {part}"
    return readable(token).removeprefix(JOINT)
