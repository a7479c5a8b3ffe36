"""Many heads as one: their mean and their maximum, weight by weight."""

from collections.abc import Collection, Sequence
from typing import Literal

import torch
from torch import Tensor

from core.capture import AttentionMap

Combination = Literal["mean", "maximum"]
COMBINATIONS: tuple[Combination, ...] = ("mean", "maximum")


def combine(weights: Tensor, combination: Combination) -> Tensor:
    """[H, Q, K] -> [Q, K]. Rows of a mean sum to what the heads' rows sum to; rows of a maximum to that or more."""
    return weights.mean(0) if combination == "mean" else weights.amax(0)


def combined(maps: Sequence[AttentionMap], heads: Collection[tuple[int, int]] | None = None) -> Tensor:
    """The mean and the maximum over heads of one kind of attention, every head alike, of whichever layer.

    Args:
        maps: layers of one kind on one sentence; they may differ in their number of heads.
        heads: layer and head of those to combine; None: all of all layers.

    Returns:
        [2, Q, K]: in the order of `COMBINATIONS`.

    Raises:
        ValueError: there is nothing to combine.
    """
    found = [
        layer.weights[head]
        for layer in maps
        for head in range(layer.num_heads)
        if heads is None or (layer.layer, head) in heads
    ]
    if not found:
        raise ValueError("there are no heads to combine: name at least one that is in these layers")
    weights = torch.stack(found)
    return torch.stack([combine(weights, combination) for combination in COMBINATIONS])
