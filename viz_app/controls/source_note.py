"""Note that a sentence is not in the language that the model translates from."""

import math
from typing import TYPE_CHECKING

import streamlit as st

from viz_app.language import marked, tr
from viz_app.session import readings
from viz_app.session.models import MODEL_HASH, Model

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from core import Translation
    from core.analysis.unfamiliar_source import SourceFamiliarity

UNKNOWN = marked(
    "The model does not know most of these characters and reads them byte by byte: its translation means little."
)


@st.cache_resource(max_entries=256, show_spinner=False, hash_funcs=MODEL_HASH)
def _familiarity(model: Model, source: str, _translation: "Translation") -> "SourceFamiliarity":
    from core.analysis.unfamiliar_source import source_familiarity

    return source_familiarity(model.translator, _translation)


def source_note(reading: readings.Reading, place: "DeltaGenerator") -> None:
    """Draw the note, if there is one.

    Call it after the page is drawn: it may run the model once.

    Args:
        place: an empty one, close to the sentence.
    """
    try:
        found = _familiarity(reading.model, reading.translation.source, reading.translation)
    except ValueError:  # the model cannot score the source as a translation
        return
    if found.is_unknown:
        place.warning(tr(UNKNOWN), icon=":material/translate:")
    elif found.is_copied:
        place.warning(copied_text(found), icon=":material/translate:")


def copied_text(found: "SourceFamiliarity") -> str:
    """Say by a ratio per token that the source is as probable as its translation."""
    from core.analysis.unfamiliar_source import MARGIN

    return tr(
        "Is this in the language that the model translates from? Token for token, the translation is only {ratio:.1f} "
        "times as probable as the unchanged sentence; ordinary sentences have more than {ordinary:.1f}. The model "
        "copies what it cannot read: translation and attention then mean little.",
        ratio=math.exp(found.margin),
        ordinary=math.exp(MARGIN),
    )
