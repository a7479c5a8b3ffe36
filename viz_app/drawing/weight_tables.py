"""Attention weights as tables; positions, layers and heads are counted from 0."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from core.analysis.tokens.words import readable
from core.capture import AttentionMap

if TYPE_CHECKING:  # importing pandas takes half a second: figures appear before tables
    import pandas as pd


def lines_table(attention: AttentionMap, heads: Sequence[int]) -> "pd.DataFrame":
    """Return every weight of some heads, a row each.

    Columns: kind, layer, head, query_position, query, (in the decoder) predicted, key_position, key, weight. In the
    decoder `query` is the token that was fed.
    """
    import pandas as pd

    weights = attention.weights[list(heads)].numpy()
    numbers, rows, columns = (each.ravel() for each in np.indices(weights.shape))
    queries, keys, predicted = (
        np.array(_labels(tokens or ()), dtype=object)
        for tokens in (attention.query_tokens, attention.key_tokens, attention.predicted_tokens)
    )
    return pd.DataFrame(
        {
            "kind": attention.kind,
            "layer": attention.layer,
            "head": np.array(heads, dtype=int)[numbers],
            "query_position": rows,
            "query": queries[rows],
            **({} if attention.predicted_tokens is None else {"predicted": predicted[rows]}),
            "key_position": columns,
            "key": keys[columns],
            "weight": weights.ravel(),
        }
    )


def shown_table(attention: AttentionMap, heads: Sequence[int], hidden: str) -> "pd.DataFrame":
    """Return `lines_table` without masked weights, and with those on tokens named as hidden at the end of each row."""
    import pandas as pd

    table = lines_table(attention, heads)
    visible = np.tile(attention.visible.flatten().numpy(), len(heads))
    if attention.hidden is None:
        return table.loc[visible].reset_index(drop=True)
    keys = len(attention.key_tokens)
    ends = table.iloc[keys - 1 :: keys].assign(
        key_position=keys, key=hidden, weight=attention.hidden[list(heads)].flatten().numpy()
    )
    shown = pd.concat([table.loc[visible], ends]).sort_index(
        kind="stable"
    )  # an end has the index of its row's last key
    return shown.reset_index(drop=True)


def with_columns(table: "pd.DataFrame", place: int, columns: Mapping[str, str]) -> "pd.DataFrame":
    """Insert columns with one value each into a table."""
    for number, (name, value) in enumerate(columns.items()):
        table.insert(place + number, name, value)
    return table


def named_heads(table: "pd.DataFrame", names: Mapping[int, str]) -> "pd.DataFrame":
    """Name the heads of combined maps, which have no layer; without names, they have no heads."""
    if not names:
        return table.drop(columns=["head"])
    return table.assign(head=[names[head] for head in table["head"]]).drop(columns=["layer"])


def grid_table(maps: Sequence[AttentionMap], heads: Sequence[tuple[int, int]]) -> "pd.DataFrame":
    """Return every weight of many heads (layer, head), a row for each of their queries.

    Columns: layer, head, query_position, query, (in the decoder) predicted, and one for each key, named by its position
    and its token, such as `3 dog`.
    """
    import pandas as pd

    by_layer = {attention.layer: attention for attention in maps}
    tables: list[pd.DataFrame] = []
    for layer, head in heads:
        attention = by_layer[layer]
        queries = _labels(attention.query_tokens)
        table = pd.DataFrame({"layer": layer, "head": head, "query_position": range(len(queries)), "query": queries})
        if attention.predicted_tokens is not None:
            table["predicted"] = _labels(attention.predicted_tokens)
        keys = [f"{position} {token}" for position, token in enumerate(_labels(attention.key_tokens))]
        tables.append(pd.concat([table, pd.DataFrame(attention.weights[head].numpy(), columns=keys)], axis=1))
    return pd.concat(tables, ignore_index=True)


def _labels(tokens: Sequence[str]) -> list[str]:
    return [readable(token) for token in tokens]
