"""The settings of the page Heads, as chosen in its widgets, and the one of the gradient's output."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import streamlit as st

from core import Explanation
from core.capture import Kind
from core.drawing.head_explorer import View
from viz_app.components.word_links import Axis, Highlight, Links
from viz_app.controls.widgets import setting_segments
from viz_app.language import marked, tr, tr_values
from viz_app.session import address, readings, word_selection
from viz_app.session.attributions import MethodChoice
from viz_app.session.model_passes import Output
from viz_app.session.readings import Reading, TokenView

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


@dataclass(frozen=True)
class HeadsView:
    """The settings of the page Heads, besides the selected heads."""

    kind: Kind
    view: View
    tokens: TokenView
    weights: MethodChoice
    top_mass: float | None = None  # share of each row's weight that is drawn as lines; None: all lines
    step: int | None = None  # the row of the selected decoding step, if one is selected
    several: bool = False  # whether a click on a head adds it to the selected ones

    def links(self, explanation: Explanation) -> dict[Axis, list[str]]:
        """Name the word that each row and column belongs to."""
        return word_selection.links(explanation, self.kind, self.tokens)

    def highlight(self, reading: Reading) -> Highlight:
        """Return the rows and columns of the selected words; if a decoding step is selected, it is the only row."""
        return self.highlight_of(word_selection.selected_names(reading), self.links(reading.explain()))

    def highlight_of(self, names: Sequence[str], links: Links) -> Highlight:
        """Return the rows and columns of words with these names, likewise."""
        highlight = word_selection.highlighted(names, links)
        return highlight if self.step is None else {"query": [self.step], "key": highlight["key"]}
