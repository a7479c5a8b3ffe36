"""The choice of the output that gradient x attention is about."""

from typing import Literal

import streamlit as st

from viz_app.session import readings
from viz_app.session.gradient_output import Output

OutputChoice = Literal["whole", "selected"]

CHOICES: dict[OutputChoice, str] = {"whole": "Whole translation", "selected": "Selected output"}

NOTHING_SELECTED = "Select a word of the translation, and the gradient is of that alone."


def output_box(about: readings.Reading, step: range | None) -> Output | None:
    """Let the reader choose.

    Args:
        step: the tokens of the decoding step that is looked at, if one is.

    Returns:
        None for the whole translation, which it also is while nothing of it is selected.
    """
    chosen: OutputChoice = st.segmented_control(
        "Gradient of",
        tuple(CHOICES),
        default="whole",
        required=True,
        format_func=CHOICES.__getitem__,
        key="output",
        bind="query-params",
        label_visibility="collapsed",
    )
    if chosen == "whole":
        return None
    words = [tokens for side, tokens in readings.selected_words(about) if side == "target"]
    found = tuple(sorted(position for tokens in ([step] if step else words) for position in tokens))
    if not found:
        st.caption(NOTHING_SELECTED)
    return found or None
