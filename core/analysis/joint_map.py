"""Encoder, cross- and decoder attention of one layer as a block matrix."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from core.analysis.heads.head import Maps
from core.analysis.heads.mean_and_maximum import Combination, combine
from core.analysis.tokens.words import readable_all
from core.capture import AttentionMap
from core.text.phrases import Phrase, marked
from core.trace import Kind

HIDDEN = marked("hidden, source"), marked("hidden, target")  # tokens of each part that are not shown, as one key


@dataclass(frozen=True)
class JointMap:
    """Attention of all three kinds in one matrix, source before target.

        encoder self-attention | empty: the encoder does not attend to the target
        cross-attention        | masked decoder self-attention

    A row of the encoder sums to 1; a row of the decoder holds two distributions side by side.

    Attributes:
        source_rows, source_columns: number of source tokens among rows and columns.
        hidden: [rows, 2], the weight of each row on tokens of the source and of the target that are not shown; NaN
            where attention is impossible or the model has no such layer. None if all are shown.
    """

    weights: Tensor  # [rows, columns]; NaN where attention is impossible or the model has no such layer
    rows: tuple[str, ...]  # query tokens: those of the source, then those fed to the decoder
    columns: tuple[str, ...]  # key tokens: those of the source, then those fed to the decoder
    predicted: tuple[str, ...]  # predicted token of each decoder row
    source_rows: int
    source_columns: int
    missing: tuple[Kind, ...] = ()  # kinds of attention without this layer or head
    hidden: Tensor | None = None

    def table(self) -> dict[str, list[Any]]:
        """A row for each weight; positions are counted from 0.

        Weights on tokens that are not shown have the keys `HIDDEN`, right of all columns as in the picture.
        """
        weights = self.weights if self.hidden is None else torch.cat([self.weights, self.hidden], 1)
        places = [(row, column) for row, column in (~weights.isnan()).nonzero().tolist()]
        fed, keys = readable_all(self.rows), [*readable_all(self.columns), *map(Phrase, HIDDEN)]
        predicted = [None] * self.source_rows + readable_all(self.predicted)
        return {
            "block": [self._kind(row, column) for row, column in places],
            "row": [row for row, _ in places],
            "query": [fed[row] for row, _ in places],
            "predicted": [predicted[row] for row, _ in places],
            "column": [column for _, column in places],
            "key": [keys[column] for _, column in places],
            "weight": weights[~weights.isnan()].tolist(),
        }

    def _kind(self, row: int, column: int) -> Kind:
        if row < self.source_rows:
            return "encoder_self"
        is_source = column < self.source_columns or column == len(self.columns)  # the latter is the first of `HIDDEN`
        return "cross" if is_source else "decoder_self"


def joint_map(maps: Maps, layer: int | None, head: int | Combination) -> JointMap:
    """Assemble the blocks.

    Args:
        maps: of all three kinds, prepared alike (words merged, special tokens hidden); encoder and decoder may differ
            in their number of layers and heads.
        layer: counted from 0; None for all layers, with a mean or maximum only.
        head: counted from 0, or how to combine all heads.

    Raises:
        ValueError: no kind has this layer and head, or a single head of all layers is requested.
    """
    if layer is None and not isinstance(head, str):
        raise ValueError(f"head {head} of all layers is not one map: give a layer, or choose mean or maximum")
    encoder, decoder, cross = (maps[kind][0] for kind in ("encoder_self", "decoder_self", "cross"))
    source_rows, source_columns = len(encoder.query_tokens), len(encoder.key_tokens)
    rows, columns = (*encoder.query_tokens, *decoder.query_tokens), (*encoder.key_tokens, *decoder.key_tokens)
    weights, hidden = torch.full((len(rows), len(columns)), math.nan), torch.full((len(rows), 2), math.nan)
    places: dict[Kind, tuple[slice, slice]] = {
        "encoder_self": (slice(0, source_rows), slice(0, source_columns)),
        "decoder_self": (slice(source_rows, None), slice(source_columns, None)),
        "cross": (slice(source_rows, None), slice(0, source_columns)),
    }
    missing: list[Kind] = []
    for kind, place in places.items():
        block = _block(maps[kind], layer, head)
        if block is None:
            missing.append(kind)
        else:
            weights[place] = block
            if (share := _hidden(maps[kind], layer, head)) is not None:
                hidden[place[0], int(place[1].start > 0)] = share
    if len(missing) == len(places):
        raise ValueError(f"no attention of this model has a layer {layer} with a head {head}, both counted from 0")
    predicted = decoder.predicted_tokens or cross.row_tokens
    shares = None if hidden.isnan().all() else hidden
    return JointMap(weights, rows, columns, predicted, source_rows, source_columns, tuple(missing), shares)


def _block(layers: Sequence[AttentionMap], layer: int | None, head: int | Combination) -> Tensor | None:
    """[Q, K] of one kind; None if it has no such layer or head."""
    weights = _of_head([each.weights for each in layers if layer is None or each.layer == layer], head)
    return None if weights is None else weights.masked_fill(~layers[0].visible, math.nan)


def _hidden(layers: Sequence[AttentionMap], layer: int | None, head: int | Combination) -> Tensor | None:
    """[Q], the weight of one kind on hidden tokens; None if none are hidden."""
    selected = [each.hidden for each in layers if layer is None or each.layer == layer]
    return _of_head([each for each in selected if each is not None], head)


def _of_head(layers: Sequence[Tensor], head: int | Combination) -> Tensor | None:
    """Return the values of a head, or of all combined; None if there is no such head."""
    values = torch.cat(list(layers)) if layers else torch.empty(0)
    if not len(values) or (isinstance(head, int) and not 0 <= head < len(values)):
        return None
    return combine(values, head) if isinstance(head, str) else values[head]
