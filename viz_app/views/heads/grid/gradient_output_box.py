"""The widget that selects the output for gradient x attention."""

from typing import Literal

import streamlit as st

from viz_app.controls.widgets import setting_segments
from viz_app.language import marked, tr, tr_values
from viz_app.session import address, readings
from viz_app.session.gradient_output import Output

OutputChoice = Literal["whole", "selected"]

CHOICES: dict[OutputChoice, str] = {"whole": marked("Whole translation"), "selected": marked("Selected output")}

NOTHING_SELECTED = marked("Select a word of the translation to take the gradient of that word alone.")


def output_box(about: readings.Reading, step: range | None) -> Output | None:
    """Select the output: tokens of the decoding step, if there is one; None for all, also while nothing is selected."""
    if setting_segments(address.OUTPUT, tr("Gradient of"), tr_values(CHOICES), hide_label=True) == "whole":
        return None
    words = [tokens for side, tokens in readings.selected_words(about) if side == "target"]
    positions = tuple(sorted(position for tokens in ([step] if step else words) for position in tokens))
    if not positions:
        st.caption(tr(NOTHING_SELECTED))
    return positions or None
