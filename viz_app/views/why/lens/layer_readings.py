"""The lenses of a reading, and the selected cell."""

from typing import Any

import streamlit as st

from core.analysis.lens.decoder_lens import EncoderLens, encoder_translations
from core.analysis.lens.layer_removals import layer_removals
from core.analysis.lens.logit_lens import LENS, LensOptions, LogitLens
from core.analysis.recorded_call import Call
from core.analysis.word_scores.least_probable import least_probable_token
from viz_app.session import address, python_code
from viz_app.session.models import MODEL_HASH, Model
from viz_app.session.readings import Reading, Search, SearchProgress

TOP = 10  # tokens of a cell


@python_code.with_result(max_entries=24)
def lens_call(about: Reading) -> Call:
    """Return the call that reads what each layer of the decoder predicts."""
    return LENS.call(*python_code.sentence(about), LensOptions(top=TOP))


@python_code.with_result(max_entries=128)
def removals_call(about: Reading, position: int) -> Call:
    """Return the call that leaves out each layer alone and predicts a token again."""
    return Call("removals", layer_removals, (*python_code.sentence(about), position))


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
    rows, levels = len(lens.explanation.predicted_tokens), lens.num_layers
    if place := address.CELL.selected(possible=lambda place: place[0] < rows and place[1] <= levels):
        return place
    row = least_probable_token(lens.explanation)
    decided = lens.decided[row]
    return row, max((levels if decided is None else decided) - 1, 0)
