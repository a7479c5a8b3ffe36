"""What the heads looked at when one symbol of a tree was written: a bracket, or the place of a word."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from core.results import Explanation
from core.tokenizer import SPACE_MARK

Looked = Literal["cross", "decoder_self"]


@dataclass(frozen=True)
class SymbolAttention:
    """One row of every head's attention.

    Attributes:
        symbol: that was written.
        keys: K names of what could be looked at: the words and `</s>` (`cross`), or what had been fed
            (`decoder_self`; the last r of it where self-attention is restricted).
        weights: [L, H, K]; each head's sum to 1.
    """

    kind: Looked
    symbol: str
    keys: tuple[str, ...]
    weights: Tensor


def symbol_attention(explanation: Explanation, words: Sequence[str], position: int, kind: Looked) -> SymbolAttention:
    """The attention at the position that wrote a symbol.

    Args:
        explanation: of a sentence and its tree.
        words: of the sentence; what a head gives to the pieces of a word is added up.
        position: of the symbol in the tree's sequence.

    Raises:
        ValueError: there is no such position, or the sentence has not these words.
    """
    if not 0 <= position < len(explanation.predicted_tokens):
        raise ValueError(f"the tree has {len(explanation.predicted_tokens)} tokens, there is none at {position}")
    rows = torch.stack([attention.weights[:, position] for attention in explanation.maps[kind]])  # [L, H, K]
    symbol = explanation.predicted_tokens[position].removeprefix(SPACE_MARK)
    if kind == "decoder_self":
        seen: list[int] = explanation.maps[kind][0].visible[position].nonzero().flatten().tolist()
        return SymbolAttention(
            kind, symbol, tuple(explanation.fed_tokens[key].removeprefix(SPACE_MARK) for key in seen), rows[..., seen]
        )
    *pieces, _ = explanation.source_tokens
    starts = [index for index, piece in enumerate(pieces) if piece.startswith(SPACE_MARK)]
    if len(starts) != len(words) or starts[:1] != [0]:
        raise ValueError(f"the sentence was read as {len(starts)} words, expected {len(words)}")
    ends = [*starts[1:], len(pieces)]
    summed = [rows[..., start:end].sum(-1) for start, end in zip(starts, ends, strict=True)]
    return SymbolAttention(kind, symbol, (*words, "</s>"), torch.stack([*summed, rows[..., -1]], -1))
