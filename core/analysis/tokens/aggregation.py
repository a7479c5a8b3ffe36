"""Aggregation of rows and columns of a map, as for the pieces of a word."""

from collections.abc import Sequence

from torch import Tensor

from core.capture import AttentionMap


def mean_of_rows(attention: AttentionMap, rows: Sequence[int]) -> Tensor:
    """Mean of rows: [H, K].

    Raises:
        ValueError: no row is given, or one is out of range.
    """
    _check("row", rows, len(attention.query_tokens))
    return attention.weights[:, list(rows)].mean(1)


def sum_of_columns(attention: AttentionMap, columns: Sequence[int]) -> Tensor:
    """Sum of columns: [H, Q].

    Raises:
        ValueError: no column is given, or one is out of range.
    """
    _check("column", columns, len(attention.key_tokens))
    return attention.weights[:, :, list(columns)].sum(2)


def _check(name: str, chosen: Sequence[int], count: int) -> None:
    if not chosen or not all(0 <= index < count for index in chosen):
        raise ValueError(
            f"{name}s {list(chosen)} of a map of {count} cannot be aggregated: give at least one, from 0 to {count - 1}"
        )
