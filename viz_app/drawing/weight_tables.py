"""Attention weights as tables; positions, layers and heads are counted from 0."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from core.analysis.tokens.words import readable
from core.capture import AttentionMap

if TYPE_CHECKING:  # importing pandas takes half a second: figures appear before tables
    import pandas as pd


def head_table(attention: AttentionMap, head: int) -> "pd.DataFrame":
    """Return every weight of one head, a row each.

    Columns: query_position, query, (in the decoder) predicted, key_position, key, weight. In the decoder `query` is the
    token that was fed.
    """
    import pandas as pd

    queries, keys = len(attention.query_tokens), len(attention.key_tokens)
    rows, columns = np.divmod(np.arange(queries * keys), keys)
    table = pd.DataFrame(
        {"query_position": rows, "query": np.array(_labels(attention.query_tokens), dtype=object)[rows]}
    )
    if attention.predicted_tokens is not None:
        table["predicted"] = np.array(_labels(attention.predicted_tokens), dtype=object)[rows]
    table["key_position"] = columns
    table["key"] = np.array(_labels(attention.key_tokens), dtype=object)[columns]
    table["weight"] = attention.weights[head].flatten().numpy()
    return table


def lines_table(attention: AttentionMap, heads: Sequence[int]) -> "pd.DataFrame":
    """Return `head_table` of several heads, with kind, layer and head in front."""
    import pandas as pd

    tables: list[pd.DataFrame] = []
    for head in heads:
        table = head_table(attention, head)
        for place, (name, value) in enumerate((("kind", attention.kind), ("layer", attention.layer), ("head", head))):
            table.insert(place, name, value)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


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
