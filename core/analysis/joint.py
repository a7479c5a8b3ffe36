"""The three kinds of attention of one layer as one block matrix: encoder, cross and decoder."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from core.analysis.heads.head import Maps
from core.analysis.heads.mean_and_maximum import Combination, combine
from core.capture import AttentionMap, Kind


@dataclass(frozen=True)
class JointMap:
    """Who looks at whom, in the whole model at once: source above target, source beside target.

        encoder self-attention | nothing: the encoder does not see the target
        cross-attention        | masked decoder self-attention

    A row of the encoder sums to 1; a row of the decoder holds two distributions side by side.

    Attributes:
        weights: [rows, columns]; NaN where nothing can look, or where the model has no such layer.
        rows: tokens that look: those of the source, then those fed to the decoder.
        columns: tokens that are looked at: those of the source, then those fed to the decoder.
        predicted: what the decoder's rows put out, as many as there are target rows.
        source_rows, source_columns: how many of them are the source's.
        missing: kinds of attention that have no such layer or head.
    """

    weights: Tensor
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    predicted: tuple[str, ...]
    source_rows: int
    source_columns: int
    missing: tuple[Kind, ...] = ()


def joint_map(maps: Maps, layer: int | None, head: int | Combination) -> JointMap:
    """Put the blocks together.

    Args:
        maps: of all three kinds, prepared alike (words merged, special tokens hidden); encoder and decoder may differ
            in their number of layers and heads.
        layer: counted from 0; None: all layers, which only a mean or a maximum can be over.
        head: counted from 0, or what to make of all heads.

    Raises:
        ValueError: no kind has such a layer and head, or one head of all layers is asked for.
    """
    if layer is None and not isinstance(head, str):
        raise ValueError(f"head {head} of all layers is no map: name a layer, or take the mean or the maximum")
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
    predicted = decoder.predicted_tokens or cross.predicted_tokens or decoder.query_tokens
    return JointMap(weights, rows, columns, predicted, source_rows, source_columns, tuple(missing))


def _block(layers: Sequence[AttentionMap], layer: int | None, head: int | Combination) -> Tensor | None:
    """[Q, K] of one kind; None where it has no such layer or head."""
    asked = [each.weights for each in layers if layer is None or each.layer == layer]
    if not asked:
        return None
    weights = torch.cat(asked)
    if isinstance(head, str):
        return combine(weights, head)
    return weights[head] if 0 <= head < len(weights) else None
