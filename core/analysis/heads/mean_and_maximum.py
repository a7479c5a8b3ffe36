"""Combination of many heads into one map: mean and maximum of each weight."""

from collections.abc import Collection, Sequence
from typing import Literal

import torch
from torch import Tensor

from core.capture import AttentionMap

Combination = Literal["mean", "maximum"]
COMBINATIONS: tuple[Combination, ...] = ("mean", "maximum")


def combine(weights: Tensor, combination: Combination) -> Tensor:
    """Combine the heads of one map: [H, Q, K] -> [Q, K].

    The rows of a mean sum to the mean of the heads' row sums, the rows of a maximum to at least as much.
    """
    return weights.mean(0) if combination == "mean" else weights.amax(0)


def combined(maps: Sequence[AttentionMap], heads: Collection[tuple[int, int]] | None = None) -> Tensor:
    """Mean and maximum over heads of one kind of attention, across layers; every head has the same weight.

    Args:
        maps: layers of one kind for one sentence; they may differ in their number of heads.
        heads: (layer, head) of the heads to combine; None for all.

    Returns:
        [2, Q, K], in the order of `COMBINATIONS`.

    Raises:
        ValueError: no head is selected.
    """
    chosen = [
        layer.weights[head]
        for layer in maps
        for head in range(layer.num_heads)
        if heads is None or (layer.layer, head) in heads
    ]
    if not chosen:
        raise ValueError("no heads to combine: select at least one head of these layers")
    weights = torch.stack(chosen)
    return torch.stack([combine(weights, combination) for combination in COMBINATIONS])
