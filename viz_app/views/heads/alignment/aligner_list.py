"""The selected aligner of the page Alignment, and tables to select one."""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from core.analysis.alignment.aligners import Aligner
from viz_app.controls.tables import selectable_table
from viz_app.language import tr
from viz_app.session import address
from viz_app.session.chosen_heads import keep_heads
from viz_app.session.state import session_object
from viz_app.views.heads.alignment.figures import aligner_table

METHOD = address.METHOD
ALIGNER = address.ALIGNER  # a head or a mean, by name
ROWS = address.ROWS


@dataclass
class AlignerClick:
    """Whether an aligner was just selected in a table of either half of the page."""

    pending: bool = False

    def take(self) -> bool:
        """Return whether there was a click since the last call."""
        was_pending, self.pending = self.pending, False
        return was_pending


def show_aligners(aligners: Sequence[Aligner], key: str) -> None:
    """Draw a table of aligners; selecting a row selects that aligner on the page."""

    def select(row: int) -> None:
        ALIGNER.set(str(aligners[row]))
        keep_heads(ALIGNER)
        ROWS.set(aligners[row].rows)
        session_object(AlignerClick).pending = True

    selectable_table(
        aligner_table(aligners),
        f"aligners_{key}",
        select,
        height=330,
        column_config={
            "head": st.column_config.TextColumn(tr("Head"), width=75),
            "rows": st.column_config.TextColumn(
                tr("Rows"), width=80, help=tr("Aligned by the rows that predict a word, or that were fed it.")
            ),
            "AER": st.column_config.ProgressColumn(
                tr("Errors (AER)"),
                format="%.3f",
                min_value=0,
                max_value=1,
                width=120,
                help=tr("0 is best; 1: no gold link found."),
            ),
            "precision": st.column_config.NumberColumn(
                tr("Precision"), format="%.3f", width=75, help=tr("Share of its links that are gold.")
            ),
            "recall": st.column_config.NumberColumn(
                tr("Recall"), format="%.3f", width=65, help=tr("Share of the sure gold links that it found.")
            ),
        },
    )
