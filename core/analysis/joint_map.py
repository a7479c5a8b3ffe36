"""Encoder, cross- and decoder attention of one layer as a block matrix."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from core.analysis.heads.head import Maps
from core.analysis.heads.mean_and_maximum import Combination, combine
from core.capture import AttentionMap
from core.trace import Kind


@dataclass(frozen=True)
class JointMap:
    """Attention of all three kinds in one matrix, source before target.

        encoder self-attention | empty: the encoder does not attend to the target
        cross-attention        | masked decoder self-attention

    A row of the encoder sums to 1; a row of the decoder holds two distributions side by side.

    Attributes:
        weights: [rows, columns]; NaN where attention is impossible or the model has no such layer.
        rows: query tokens: those of the source, then those fed to the decoder.
        columns: key tokens: those of the source, then those fed to the decoder.
        predicted: predicted token of each decoder row.
        source_rows, source_columns: number of source tokens among rows and columns.
        missing: kinds of attention without this layer or head.
    """

    weights: Tensor
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    predicted: tuple[str, ...]
    source_rows: int
    source_columns: int
    missing: tuple[Kind, ...] = ()


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
    weights = torch.full((len(rows), len(columns)), math.nan)
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
    if len(missing) == len(places):
        raise ValueError(f"no attention of this model has a layer {layer} with a head {head}, both counted from 0")
    predicted = decoder.predicted_tokens or cross.row_tokens
    return JointMap(weights, rows, columns, predicted, source_rows, source_columns, tuple(missing))


def _block(layers: Sequence[AttentionMap], layer: int | None, head: int | Combination) -> Tensor | None:
    """[Q, K] of one kind; None if it has no such layer or head."""
    selected = [each.weights for each in layers if layer is None or each.layer == layer]
    if not selected:
        return None
    weights = torch.cat(selected)
    if isinstance(head, int) and not 0 <= head < len(weights):
        return None
    return (combine(weights, head) if isinstance(head, str) else weights[head]).masked_fill(
        ~layers[0].visible, math.nan
    )
