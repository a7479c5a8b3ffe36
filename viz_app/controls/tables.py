"""Tables in the one form that all pages use."""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import streamlit as st

from viz_app.components.row_clicks import row_clicks
from viz_app.language import tr, translated_all
from viz_app.session.state import Widget

if TYPE_CHECKING:  # pandas takes half a second to import: pictures are drawn before tables
    import pandas as pd

    from core.analysis.declaration import Columns

NOTHING = "\u2013"  # in a cell without a value
HEAD, ROW = 38, 35  # pixels: the titles with the border, and a row


def decimals(digits: int) -> dict[str, Any]:
    """Return the format of a column of numbers: so many digits after the mark of the visitor's language.

    Streamlit takes the mark from the languages of the browser, which `viz_app.frame.sidebar` sets.
    """
    return {"format": "localized", "step": 10.0**-digits}


def number_column(title: str, digits: int, **options: Any) -> Any:
    """Return a column of numbers with so many digits; options as of `st.column_config.NumberColumn`."""
    return st.column_config.NumberColumn(title, **decimals(digits), **options)


def bar_column(title: str, digits: int, most: float = 1.0, **options: Any) -> Any:
    """Return a column of numbers with bars from 0 to the most; options as of `st.column_config.ProgressColumn`."""
    return st.column_config.ProgressColumn(title, **decimals(digits), min_value=0, max_value=most, **options)


def show_table(
    table: "pd.DataFrame | Columns",
    *,
    columns: Mapping[str, Any] | None = None,
    hide_index: bool = True,
    **options: Any,
) -> None:
    """Draw a table as `st.dataframe`, with translated titles and phrases, and a dash, not `None`, in empty cells.

    Args:
        columns: the configuration of the columns that are shown, in order; None for all.
        options: of `st.dataframe`; with few rows a table is lower than its height.
    """
    table = _frame(table)
    if isinstance(height := options.get("height"), int):
        options["height"] = min(height, HEAD + options.get("row_height", ROW) * len(table))
    if columns is not None:
        options |= {"column_order": list(columns), "column_config": columns}
    titles = {name: title for name in map(str, table.columns) if (title := tr(name)) != name}
    if titles:
        options["column_config"] = {**titles, **options.get("column_config", {})}
    table = _rounded(table, options.get("column_config", {}))
    st.dataframe(table, hide_index=hide_index, placeholder=NOTHING, **options)


def _frame(table: "pd.DataFrame | Columns") -> "pd.DataFrame":
    if not isinstance(table, Mapping):
        return table
    import pandas as pd

    return pd.DataFrame({name: translated_all(cast("Sequence[str]", values)) for name, values in table.items()})


def _rounded(table: "pd.DataFrame", columns: Mapping[str, Any]) -> "pd.DataFrame":
    """Round the columns of `decimals`: Streamlit cuts digits off, so that 0.9999 would be 0.999."""
    digits: dict[Hashable, int] = {
        name: round(-math.log10(column["type_config"]["step"]))
        for name, column in columns.items()
        if isinstance(column, Mapping) and name in table and cast("Any", column)["type_config"].get("step")
    }
    return table.round(digits) if digits else table


def selectable_table(table: "pd.DataFrame | Columns", key: str, on_row: Callable[[int], None], **options: Any) -> None:
    """Draw a table whose rows are selected by a click anywhere in them; `on_row` is called with the number, from 0."""
    frame = _frame(table)

    def selected() -> None:
        rows: list[int] = (Widget[Any](key).value or {"selection": {"rows": []}})["selection"]["rows"]
        if rows and rows[0] < len(frame):
            on_row(rows[0])

    show_table(frame, on_select=selected, selection_mode="single-row", key=key, **options)
    row_clicks(key)
