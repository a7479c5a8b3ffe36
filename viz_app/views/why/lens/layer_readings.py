"""The lenses of a reading, and the selected cell."""

import re
from dataclasses import dataclass
from typing import Any

import streamlit as st

from core.analysis.lens.decoder_lens import EncoderLens, encoder_translations
from core.analysis.lens.logit_lens import LENS, LensOptions, LogitLens
from core.analysis.recorded_call import Call
from core.analysis.word_scores.least_probable import least_probable_token
from viz_app.session import address, python_code
from viz_app.session.models import MODEL_HASH, Model
from viz_app.session.readings import READING_HASH, Reading, Search, SearchProgress
from viz_app.session.state import session_object

CELL = address.CELL  # predicted token and level, counted from 1 and from 0, as 3.5
TOP = 10  # tokens of a cell


@dataclass
class SelectedCell:
    """The selected cell of the lens: row and level, from 0."""

    place: tuple[int, int] | None = None

    def select(self, place: tuple[int, int]) -> None:
        """Select a cell."""
        self.place = place


def lens_call(about: Reading) -> Call:
    """Return the call that reads what each layer of the decoder predicts."""
    return LENS.call(*python_code.sentence(about), LensOptions(top=TOP))


@st.cache_resource(max_entries=24, show_spinner=False, hash_funcs=READING_HASH)
def lens_of(about: Reading) -> LogitLens:
    """Return the predictions of each layer of the decoder."""
    return lens_call(about).run()


def levels_call(model: Model, search: Search, progress: SearchProgress | None = None) -> Call:
    """Return the call that translates from each encoder level.

    Args:
        progress: of the search; a script has none.
    """
    options = search.text, search.beam_size, search.length_penalty
    shown: dict[str, Any] = {} if progress is None else {"progress": progress}
    shown |= {"constraints": search.constraints()} if search.min_length else {}
    translations = Call("translations", encoder_translations, (python_code.translator(model), *options), shown)
    return Call("result", EncoderLens, (translations,))


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=MODEL_HASH)
def translations_by_level(model: Model, search: Search, _progress: SearchProgress | None = None) -> EncoderLens:
    """Return the translation from each encoder level."""
    return levels_call(model, search, _progress).run()


def selected_cell(lens: LogitLens) -> tuple[int, int]:
    """Return the selected cell, and write it to the address.

    By default it is that of the least probable word, just before its token was decided.
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
    row = least_probable_token(lens.explanation)
    return row, max(levels[row] - 1, 0)


def parsed_cell(text: str) -> tuple[int, int] | None:
    """Parse a cell such as `3.5`; None for other text."""
    parts = re.fullmatch(r"([1-9]\d{0,3})\.(\d{1,3})", text)
    return (int(parts[1]) - 1, int(parts[2])) if parts else None
