"""Tables of several selected words: the mean of their rows, the sum of columns."""

from collections.abc import Callable, Sequence

import pandas as pd
import streamlit as st

from core.analysis.tokens.aggregation import mean_of_rows, sum_of_columns
from core.analysis.tokens.words import readable
from core.capture import AttentionMap
from core.drawing.drawing_data import shown_weights
from viz_app.components.word_links import Axis, Highlight
from viz_app.controls.tables import number_column, show_table
from viz_app.drawing.display_text import isolated, plain
from viz_app.language import joined, marked, quoted, tr

TITLES: dict[Axis, str] = {
    "query": marked("Mean of {count} selected rows"),
    "key": marked("Sum of {count} selected columns"),
}
COMBINED: dict[Axis, str] = {"query": marked("{head}, mean"), "key": marked("{head}, sum")}
MAX_NAMED = 12  # words; more are counted
Name = Callable[[int, int], str]  # names a head by its layer and number
ABOUT = marked("""
Rows are averaged, columns summed. A decoder row is a step, named by the token it predicts: the mean over steps says
nothing of a token that one of them had not seen. With one head selected, each selected row or column also has a column
of its own.
""")


def tables(heads: Sequence[tuple[AttentionMap, int]], selected: Highlight, name: Name) -> None:
    """Draw a table of the selected rows, and one of the columns, if several, of heads (map, number) of one kind."""
    for axis, indices in selected.items():
        if heads and len(indices) > 1:
            draw_table(heads, axis, indices, name)


def draw_table(heads: Sequence[tuple[AttentionMap, int]], axis: Axis, indices: Sequence[int], name: Name) -> None:
    """Draw the table of one axis."""
    names = [quoted(isolated(plain(text))) for text in axis_names(heads[0][0], axis, indices)]
    named = joined(names[:MAX_NAMED])
    if len(names) > MAX_NAMED:
        named = tr("{words} and {count} more", words=named, count=len(names) - MAX_NAMED)
    st.markdown(f"**{title(axis, len(indices))}**: {named}", help=tr(ABOUT))
    table = combined_table(heads, axis, indices, name)
    config = {column: number_column(column, 3) for column in table.columns[1:]}
    show_table(table, height=420, column_config=config)


def title(axis: Axis, count: int) -> str:
    """Return the title of the table, such as `Mean of 3 selected rows`."""
    return tr(TITLES[axis], count=count)


def combined_table(
    heads: Sequence[tuple[AttentionMap, int]], axis: Axis, indices: Sequence[int], name: Name
) -> pd.DataFrame:
    """Combine several rows, or several columns, of the maps of some heads.

    Rows have a line for each column of the map, columns a line for each row. A column of the table is a head. With a
    single head, each selected word also has a column.
    """
    first = heads[0][0]
    others: Axis = "key" if axis == "query" else "query"
    table = pd.DataFrame(
        {
            tr("Attends to") if axis == "query" else tr("Token"): axis_names(
                first, others, range(first.weights.shape[2 if axis == "query" else 1])
            )
        }
    )
    combine = mean_of_rows if axis == "query" else sum_of_columns
    for attention, head in heads:
        table[tr(COMBINED[axis], head=tr(name(attention.layer, head)))] = combine(attention, indices)[head].tolist()
    if len(heads) == 1:
        weights = shown_weights(first)[heads[0][1]]
        for index, text in zip(indices, axis_names(first, axis, indices), strict=True):
            column = weights[index] if axis == "query" else weights[:, index]
            table[text if text not in table.columns else f"{text} ({index})"] = column.tolist()
    return table


def axis_names(attention: AttentionMap, axis: Axis, indices: Sequence[int]) -> list[str]:
    """Name rows or columns; a decoder row by the token it predicts."""
    tokens = attention.key_tokens if axis == "key" else attention.row_tokens
    return [readable(tokens[index]) for index in indices]
