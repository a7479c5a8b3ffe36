"""Attention weights as tables; positions, layers and heads are counted from 0."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

from core.analysis.tokens.words import readable, readable_all
from core.capture import AttentionMap
from core.files.tabular import stacked

Columns = dict[str, list[Any]]


@dataclass(frozen=True)
class LinePanel:
    """One panel of a figure: some heads of one layer on one sentence."""

    attention: AttentionMap
    heads: tuple[int, ...]  # counted from 0
    queries: tuple[int, ...] = ()  # words whose lines are drawn; empty: all words


def lines_table(attention: AttentionMap, heads: Sequence[int]) -> Columns:
    """Return every weight of some heads, a row each: `AttentionMap.table` with tokens as they are read."""
    return attention.table(heads, readable)


def grid_table(maps: Sequence[AttentionMap], heads: Sequence[tuple[int, int]]) -> Columns:
    """Return every weight of many heads (layer, head), a row for each of their queries.

    Columns: layer, head, query_position, query, (in the decoder) predicted, and one for each key, named by its position
    and its token, such as `3 dog`.
    """

    def rows(attention: AttentionMap, head: int) -> Columns:
        queries, keys = readable_all(attention.query_tokens), readable_all(attention.key_tokens)
        predicted = attention.predicted_tokens
        return {
            "layer": [attention.layer] * len(queries),
            "head": [head] * len(queries),
            "query_position": [*range(len(queries))],
            "query": queries,
            **({} if predicted is None else {"predicted": readable_all(predicted)}),
            **{f"{position} {key}": attention.weights[head, :, position].tolist() for position, key in enumerate(keys)},
        }

    by_layer = {attention.layer: attention for attention in maps}
    return stacked([rows(by_layer[layer], head) for layer, head in heads])


def appendix_table(panels: Sequence[LinePanel]) -> Columns:
    """Return the weights behind the lines of a figure, a row each; panels are counted from 0."""
    tables: list[Columns] = []
    for number, panel in enumerate(panels):
        table = with_columns(lines_table(panel.attention, panel.heads), 0, {"panel": number})
        shown = [not panel.queries or query in panel.queries for query in table["query_position"]]
        tables.append({name: [*compress(values, shown)] for name, values in table.items()})
    return stacked(tables)


def maps_table(maps: Mapping[int, AttentionMap], head: int) -> Columns:
    """Return every weight of one head at each step of `maps`."""
    return stacked([with_columns(lines_table(each, [head]), 0, {"step": step}) for step, each in maps.items()])


def with_columns(table: Columns, place: int, columns: Mapping[str, Any]) -> Columns:
    """Insert columns with one value each into a table."""
    count, own = len(table["layer"]), [*table.items()]
    return dict([*own[:place], *((name, [value] * count) for name, value in columns.items()), *own[place:]])


def named_heads(table: Columns, names: Mapping[int, str]) -> Columns:
    """Name the heads of combined maps, which have no layer; without names, they have no heads."""
    if not names:
        return {name: values for name, values in table.items() if name != "head"}
    named = table | {"head": [names[head] for head in table["head"]]}
    return {name: values for name, values in named.items() if name != "layer"}
