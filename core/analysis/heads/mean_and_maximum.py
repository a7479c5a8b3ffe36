"""Combination of many heads into one map: mean and maximum of each weight."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor

from core.capture import AttentionMap

Combination = Literal["mean", "maximum"]
LayerHead = tuple[int, int]  # counted from 0
ALL, CHOSEN = -1, -2  # in place of a layer: combinations of heads; head 0 is their mean, head 1 their maximum
COMBINATIONS: tuple[Combination, ...] = ("mean", "maximum")


def combine(weights: Tensor, combination: Combination) -> Tensor:
    """Combine the heads of one map: [H, Q, K] -> [Q, K].

    The rows of a mean sum to the mean of the heads' row sums, the rows of a maximum to at least as much.
    """
    return weights.mean(0) if combination == "mean" else weights.amax(0)


def combined(maps: Sequence[AttentionMap], heads: Collection[tuple[int, int]] | None = None) -> Tensor:
    """Mean and maximum over heads (layer, head) of one kind and sentence, every one with the same weight: [2, Q, K].

    In the order of `COMBINATIONS`; without `heads` over all. Layers may differ in their number of heads.

    Raises:
        ValueError: no head is selected.
    """
    return _combined([layer.weights[head] for layer, head in _chosen(maps, heads)])


def combined_hidden(maps: Sequence[AttentionMap], heads: Collection[tuple[int, int]] | None = None) -> Tensor | None:
    """Mean and maximum of `AttentionMap.hidden`, [2, Q], as `combined` of the weights; None if there is none."""
    hidden = [layer.hidden[head] for layer, head in _chosen(maps, heads) if layer.hidden is not None]
    return _combined(hidden) if hidden else None


def with_combined(maps: Sequence[AttentionMap], selected: Collection[LayerHead]) -> list[AttentionMap]:
    """Append the `combinations` of heads to their maps."""
    return [*maps, *combinations(maps, selected)]


def combinations(maps: Sequence[AttentionMap], selected: Collection[LayerHead]) -> list[AttentionMap]:
    """Return mean and maximum of all heads and of the selected ones, as heads 0 and 1 of `ALL` and `CHOSEN`."""
    heads = {(layer, head) for layer, head in selected if layer >= 0}
    of_all = [replace(maps[0], layer=ALL, weights=combined(maps), hidden=combined_hidden(maps))]
    if not heads:
        return of_all
    weights, hidden = combined(maps, heads), combined_hidden(maps, heads)
    return [*of_all, replace(maps[0], layer=CHOSEN, weights=weights, hidden=hidden)]


def layer_map(maps: Sequence[AttentionMap], layer: int) -> AttentionMap:
    """Return the map of a layer, or of combined heads: those of `with_combined` have layers below 0."""
    return next(each for each in maps if each.layer == layer)


def _combined(chosen: Sequence[Tensor]) -> Tensor:
    if not chosen:
        raise ValueError("no heads to combine: select at least one head of these layers")
    values = torch.stack(list(chosen))
    return torch.stack([combine(values, combination) for combination in COMBINATIONS])


def _chosen(maps: Sequence[AttentionMap], heads: Collection[tuple[int, int]] | None) -> list[tuple[AttentionMap, int]]:
    return [
        (layer, head)
        for layer in maps
        for head in range(layer.num_heads)
        if heads is None or (layer.layer, head) in heads
    ]
