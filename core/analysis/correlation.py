"""Rank correlation between attention maps."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.capture import AttentionMap


def spearman(first: ArrayLike, second: ArrayLike) -> float:
    """Spearman's rank correlation (Spearman 1904): Pearson's correlation of the ranks, equal values sharing their mean
    rank.

    Returns:
        From -1 to 1; NaN if all values of one side are equal, or there are fewer than two.

    Raises:
        ValueError: the two have different numbers of values.
    """
    one, two = np.asarray(first, dtype=np.float64).ravel(), np.asarray(second, dtype=np.float64).ravel()
    if one.size != two.size:
        raise ValueError(f"a rank correlation needs two samples of equal size: found {one.size} and {two.size} values")
    x, y = ranks(one), ranks(two)
    x, y = x - x.mean() if x.size else x, y - y.mean() if y.size else y
    spread = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y) / spread if spread else float("nan")


def ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks from 1 in ascending order; equal values share their mean rank."""
    _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[group]


def map_correlation(first: AttentionMap, second: AttentionMap) -> tuple[float, ...]:
    """`spearman` between two maps of the same layer, head by head.

    Only pairs of tokens visible in both maps count: masked weights, such as those above the diagonal of decoder
    self-attention, are 0 in both and would inflate the correlation. A map of one head is compared with each head.

    Raises:
        ValueError: the maps differ in kind or tokens, or in their number of heads with neither number 1.
    """
    if first.kind != second.kind or first.weights.shape[1:] != second.weights.shape[1:]:
        raise ValueError(
            f"maps of {first.kind} {list(first.weights.shape[1:])} and {second.kind} {list(second.weights.shape[1:])} "
            f"cannot be compared: give two maps of one kind on the same tokens"
        )
    if first.num_heads != second.num_heads and 1 not in (first.num_heads, second.num_heads):
        raise ValueError(
            f"a map of {first.num_heads} heads cannot be compared with one of {second.num_heads}: give equal numbers, "
            f"or a map of one head"
        )
    heads = max(first.num_heads, second.num_heads)
    one, two = (side.weights.expand(heads, -1, -1).numpy() for side in (first, second))
    seen = (first.visible & second.visible).numpy()
    return tuple(spearman(one[head][seen], two[head][seen]) for head in range(heads))
