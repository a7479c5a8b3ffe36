"""Attention of every head when one symbol of a linearised tree is written."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import torch
from torch import Tensor

from core.files.tabular import Tabular
from core.results import Explanation
from core.text.byte_pieces import Word
from core.text.tokenizer import SPACE_MARK

DecoderKind = Literal["cross", "decoder_self"]


@dataclass(frozen=True)
class SymbolAttention(Tabular):
    """One row of the attention of every head."""

    kind: DecoderKind
    symbol: str  # the predicted bracket or word placeholder
    # K names: the words and `</s>` (`cross`), or the fed symbols (`decoder_self`; the last r if it is restricted)
    keys: tuple[str, ...]
    weights: Tensor  # [L, H, K]; the weights of each head sum to 1
    positions: tuple[range, ...]  # of the tokens behind each key

    def table(self) -> dict[str, list[Any]]:
        """A row for each head and key; layers, heads and keys are counted from 0."""
        places = [*product(*map(range, self.weights.shape))]
        return {
            "symbol": [self.symbol] * len(places),
            **dict(zip(("layer", "head", "key"), map(list, zip(*places, strict=True)), strict=True)),
            "attends_to": [self.keys[key] for _, _, key in places],
            "weight": self.weights.flatten().tolist(),
        }


def symbol_attention(
    explanation: Explanation, words: Sequence[str], position: int, kind: DecoderKind
) -> SymbolAttention:
    """Attention at the position of a linearised tree that predicted a symbol, summed over the pieces of words.

    Raises:
        ValueError: the position is out of range, or the sentence does not have these words.
    """
    if not 0 <= position < len(explanation.predicted_tokens):
        raise ValueError(
            f"position ({position}) must be from 0 to {len(explanation.predicted_tokens) - 1}: the tree ends there"
        )
    rows = torch.stack([attention.weights[:, position] for attention in explanation.maps[kind]])  # [L, H, K]
    symbol = explanation.predicted_tokens[position].removeprefix(SPACE_MARK)
    if kind == "decoder_self":
        seen: list[int] = explanation.maps[kind][0].visible[position].nonzero().flatten().tolist()
        names = tuple(explanation.fed_tokens[key].removeprefix(SPACE_MARK) for key in seen)
        return SymbolAttention(kind, symbol, names, rows[..., seen], tuple(range(key, key + 1) for key in seen))
    *pieces, _ = explanation.source_tokens
    starts = [index for index, piece in enumerate(pieces) if piece.startswith(SPACE_MARK)]
    if len(starts) != len(words) or starts[:1] != [0]:
        raise ValueError(f"the source tokens form {len(starts)} words, expected {len(words)}")
    ends = [*starts[1:], len(pieces), len(pieces) + 1]
    positions = tuple(range(start, end) for start, end in zip([*starts, len(pieces)], ends, strict=True))
    summed = torch.stack([rows[..., list(each)].sum(-1) for each in positions], -1)
    return SymbolAttention(kind, symbol, (*map(Word, words), explanation.source_tokens[-1]), summed, positions)
