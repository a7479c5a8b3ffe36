"""Aligners as a table whose rows can be chosen, in either half of the page Alignment."""

from collections.abc import Sequence

import streamlit as st

from core.analysis.alignment.aligners import Aligner
from viz_app.controls.tables import show_table
from viz_app.figures.aligner_tables import aligner_table

CHOSEN = "aligner_chosen"  # whether one was just chosen, perhaps in the other half of the page


def just_chosen() -> bool:
    """Whether one was chosen since this was last asked."""
    return st.session_state.pop(CHOSEN, False)


def show_aligners(aligners: Sequence[Aligner], key: str) -> None:
    """A table of aligners whose rows can be chosen."""

    def chosen() -> None:
        rows: list[int] = st.session_state[f"aligners_{key}"]["selection"]["rows"]
        if rows and rows[0] < len(aligners):
            aligner = aligners[rows[0]]
            st.session_state["aligner"], st.session_state["rows"] = str(aligner), aligner.rows
            st.session_state[CHOSEN] = True

    show_table(
        aligner_table(aligners),
        height=330,
        on_select=chosen,
        selection_mode="single-row",
        key=f"aligners_{key}",
        column_config={
            "head": st.column_config.TextColumn("Head", width=75),
            "rows": st.column_config.TextColumn("Rows", width=80),
            "AER": st.column_config.ProgressColumn("AER", format="%.3f", min_value=0, max_value=1, width=120),
            "precision": st.column_config.NumberColumn("Precision", format="%.3f", width=75),
            "recall": st.column_config.NumberColumn("Recall", format="%.3f", width=65),
        },
    )
