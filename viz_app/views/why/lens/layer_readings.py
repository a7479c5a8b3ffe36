"""The lenses of a reading, and the selected cell."""

import re
from dataclasses import dataclass

import streamlit as st

from core import ScoredText
from core.analysis.lens.decoder_lens import encoder_translations
from core.analysis.lens.logit_lens import LogitLens, logit_lens
from viz_app.session import address
from viz_app.session.models import MODEL_HASH, Model
from viz_app.session.readings import READING_HASH, Reading, Search, SearchProgress
from viz_app.session.state import session_object

CELL = address.CELL  # predicted token and level, counted from 1 and from 0, as 3.5
TOP = 10  # tokens of a cell
LENS = f"""
from core.analysis.lens.logit_lens import logit_lens
lens = logit_lens(translator, source, target, {TOP})
piece = translator.tokenizer.target.piece""".strip()


@dataclass
class SelectedCell:
    """The selected cell of the lens: row and level, from 0."""

    place: tuple[int, int] | None = None

    def select(self, place: tuple[int, int]) -> None:
        """Select a cell."""
        self.place = place


@st.cache_resource(max_entries=24, show_spinner=False, hash_funcs=READING_HASH)
def lens_of(about: Reading) -> LogitLens:
    """Return what each layer of the decoder predicts."""
    return logit_lens(about.model.translator, about.translation.source, about.hypothesis.token_ids, TOP)


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=MODEL_HASH)
def translations_by_level(
    model: Model, search: Search, _progress: SearchProgress | None = None
) -> tuple[ScoredText, ...]:
    """Return the translation from each encoder level."""
    return encoder_translations(model.translator, search.text, search.beam_size, search.length_penalty, _progress)


def levels_part(search: Search) -> str:
    """Make the `table` of the translations from each encoder level in Python."""
    return f"""
from core.analysis.lens.decoder_lens import encoder_translations
from viz_app.drawing.lens import levels_table
translations = encoder_translations(translator, {search.text!r}, {search.beam_size}, {search.length_penalty})
table = levels_table(translations)""".strip()


def selected_cell(lens: LogitLens) -> tuple[int, int]:
    """Return the selected cell and write it to the address.

    By default, it is where a token was decided last.
    """
    state = session_object(SelectedCell)
    if (named := CELL.take()) is not None:
        state.place = parsed_cell(named.value)
    rows = len(lens.explanation.predicted_tokens)
    if state.place and (state.place[0] >= rows or state.place[1] > lens.num_layers):
        state.place = None
    CELL.put(f"{state.place[0] + 1}.{state.place[1]}" if state.place else "")
    if state.place:
        return state.place
    levels = [lens.num_layers if level is None else level for level in lens.decided]
    row = max(range(rows), key=levels.__getitem__)
    return row, max(levels[row] - 1, 0)


def parsed_cell(text: str) -> tuple[int, int] | None:
    """Parse a cell such as `3.5`; None for other text."""
    parts = re.fullmatch(r"([1-9]\d{0,3})\.(\d{1,3})", text)
    return (int(parts[1]) - 1, int(parts[2])) if parts else None
