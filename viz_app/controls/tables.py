"""Tables as all pages show them."""

from typing import TYPE_CHECKING, Any

import streamlit as st

if TYPE_CHECKING:  # pandas takes half a second to import: the pictures are on the page before the tables
    import pandas as pd

NOTHING = "\u2013"  # where there is no number or word to show


def show_table(table: "pd.DataFrame", *, hide_index: bool = True, **look: Any) -> None:
    """A table on the page; where it has nothing there is a dash, not Python's word for it.

    Args:
        look: as for `st.dataframe`.
    """
    st.dataframe(table, hide_index=hide_index, placeholder=NOTHING, **look)
