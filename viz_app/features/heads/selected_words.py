"""The numbers of several selected words together: of rows the mean, of columns the sum, in the heads that are shown."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from core.analysis.tokens.aggregation import mean_of_rows, sum_of_columns
from core.analysis.tokens.words import readable
from core.capture import AttentionMap
from viz_app.components.attention_lines import Axis, Highlight
from viz_app.controls.tables import show_table
from viz_app.controls.toolbar import Options
from viz_app.figures.display_text import isolated, plain

TAKEN: dict[Axis, str] = {"query": "mean", "key": "sum"}  # what stands for several rows, and for several columns
MOST_NAMED = 12  # words that are called by their names
ABOUT = """
Selected words are taken together as the pieces of a word are: averaged where they look, summed where they are looked
at. A decoder row is named by what it predicts. With one head, each of them stands beside.
"""


def tables(heads: Sequence[tuple[AttentionMap, int]], selected: Highlight, options: Options) -> None:
    """A table of the selected rows, and one of the selected columns, where there are several.

    Args:
        heads: each as its layer's map and its number, all of one kind.
    """
    for axis, indices in selected.items():
        if heads and len(indices) > 1:
            show(heads, axis, indices, options)


def show(heads: Sequence[tuple[AttentionMap, int]], axis: Axis, indices: Sequence[int], options: Options) -> None:
    """One of the two."""
    names = [f"\u201c{isolated(plain(name))}\u201d" for name in words(heads[0][0], axis, indices)]
    named = ", ".join(names[:MOST_NAMED]) + (f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else "")
    st.markdown(f"**{title(axis, len(indices))}**: {named}", help=ABOUT)
    table = together_table(heads, axis, indices, options)
    look = {name: st.column_config.NumberColumn(name, format="%.3f") for name in table.columns[1:]}
    show_table(table, height=min(420, 38 + 35 * len(table)), column_config=look)


def title(axis: Axis, count: int) -> str:
    """What the numbers are: `Mean of 3 selected rows`."""
    return f"{TAKEN[axis].capitalize()} of {count} selected {'rows' if axis == 'query' else 'columns'}"


def together_table(
    heads: Sequence[tuple[AttentionMap, int]], axis: Axis, indices: Sequence[int], options: Options
) -> pd.DataFrame:
    """Of several rows, a line for each word that they look at; of several columns, for each that looks at them. A
    column a head.

    With a single head the selected words follow, each in a column of its own.
    """
    first = heads[0][0]
    others: Axis = "key" if axis == "query" else "query"
    table = pd.DataFrame(
        {
            "Looks at" if axis == "query" else "Token": words(
                first, others, range(first.weights.shape[2 if axis == "query" else 1])
            )
        }
    )
    taken = mean_of_rows if axis == "query" else sum_of_columns
    for attention, head in heads:
        table[f"{options.name(attention.layer, head)}, {TAKEN[axis]}"] = taken(attention, indices)[head].tolist()
    if len(heads) == 1:
        weights = first.weights[heads[0][1]]
        for index, name in zip(indices, words(first, axis, indices), strict=True):
            column = weights[index] if axis == "query" else weights[:, index]
            table[name if name not in table.columns else f"{name} ({index})"] = column.tolist()
    return table


def words(attention: AttentionMap, axis: Axis, indices: Sequence[int]) -> list[str]:
    """What rows or columns are called; a decoder row by what it predicts."""
    tokens = attention.key_tokens if axis == "key" else attention.row_tokens
    return [readable(tokens[index]) for index in indices]
