"""Aggregation of the selected rows or columns of a map."""

from collections.abc import Sequence

import torch
from torch import Tensor

from core.capture import AttentionMap


def mean_of_rows(attention: AttentionMap, rows: Sequence[int]) -> Tensor:
    """Mean of rows: [H, K]; NaN for keys that none of them sees or, in the decoder, that one does not see yet.

    Raises:
        ValueError: no row is given, or one is out of range.
    """
    _check("row", rows, len(attention.query_tokens))
    visible = attention.visible[list(rows)]
    seen = visible.all(0) if attention.kind == "decoder_self" else visible.any(0)
    return attention.weights[:, list(rows)].mean(1).masked_fill(~seen, torch.nan)


def sum_of_columns(attention: AttentionMap, columns: Sequence[int]) -> Tensor:
    """Sum of columns: [H, Q]; NaN for rows that see none of them.

    Raises:
        ValueError: no column is given, or one is out of range.
    """
    _check("column", columns, len(attention.key_tokens))
    seen = attention.visible[:, list(columns)].any(1)
    return attention.weights[:, :, list(columns)].sum(2).masked_fill(~seen, torch.nan)


def _check(name: str, chosen: Sequence[int], count: int) -> None:
    if not chosen or not all(0 <= index < count for index in chosen):
        raise ValueError(
            f"{name}s {list(chosen)} of a map of {count} cannot be aggregated: give at least one, from 0 to {count - 1}"
        )
