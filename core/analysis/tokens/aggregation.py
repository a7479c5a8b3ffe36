"""Several words of one attention map taken together, as the pieces of a word are: averaged where they look, summed
where they are looked at.
"""

from collections.abc import Sequence

from torch import Tensor

from core.capture import AttentionMap


def mean_of_rows(attention: AttentionMap, rows: Sequence[int]) -> Tensor:
    """What these rows give to each key, on average [H, K].

    Raises:
        ValueError: there are none, or there is no such row.
    """
    _check("row", rows, len(attention.query_tokens))
    return attention.weights[:, list(rows)].mean(1)


def sum_of_columns(attention: AttentionMap, columns: Sequence[int]) -> Tensor:
    """What each query gives to these columns, together [H, Q].

    Raises:
        ValueError: there are none, or there is no such column.
    """
    _check("column", columns, len(attention.key_tokens))
    return attention.weights[:, :, list(columns)].sum(2)


def _check(name: str, chosen: Sequence[int], count: int) -> None:
    if not chosen or not all(0 <= index < count for index in chosen):
        raise ValueError(
            f"{name}s {list(chosen)} of a map of {count} cannot be taken together: give at least one, from 0 to "
            f"{count - 1}"
        )
