"""Tables as all pages show them."""

from typing import Any

import pandas as pd
import streamlit as st

NOTHING = "\u2013"  # where there is no number or word to show


def show_table(table: pd.DataFrame, *, hide_index: bool = True, **look: Any) -> None:
    """A table on the page; where it has nothing there is a dash, not Python's word for it.

    Args:
        look: as for `st.dataframe`.
    """
    st.dataframe(table, hide_index=hide_index, placeholder=NOTHING, **look)
