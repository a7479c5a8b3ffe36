"""What the current reading is compared with: another hypothesis, another sentence, or another checkpoint."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import BinaryIO

import streamlit as st

from core import Explanation
from viz_app import models, state

UPLOADED = "second_model"  # where the session keeps a second checkpoint: its file's id, and the model or why there is none


@dataclass(frozen=True)
class Side:
    """One of the two: what it is called, and what was seen."""

    name: str
    explanation: Explanation


def hypothesis(reading: state.Reading, index: int) -> Side:
    """Another hypothesis of the same search."""
    other = replace(reading, index=index)
    return Side(other.hypothesis.text, other.explanation)


def sentence(reading: state.Reading, text: str, progress: Callable[[int, int], None]) -> Side:
    """Another sentence, translated by the same model with the same settings.

    Raises:
        ValueError: it cannot be translated.
    """
    search = replace(reading.search, text=text)
    other = state.Reading(reading.model, search, search.run(reading.model, progress), 0)
    return Side(other.hypothesis.text, other.explanation)


def checkpoint(reading: state.Reading, model: models.Model, same_target: bool, progress: Callable[[int, int], None]) -> Side:
    """The same sentence in another model.

    Args:
        same_target: whether it is made to read the current translation; otherwise it is asked for its own.

    Raises:
        ValueError: the sentence is too long for it.
    """
    source, mine, theirs = reading.translation.source, reading.model.translator, model.translator
    if not same_target:
        other = state.Reading(model, reading.search, reading.search.run(model, progress), 0)
        return Side(model.name, other.explanation)
    same_tokens = mine.tokenizer.to_bytes() == theirs.tokenizer.to_bytes()
    target = reading.hypothesis.token_ids if same_tokens else reading.hypothesis.text
    return Side(model.name, state.explanations().get((model.digest, reading.translation.source, target), lambda: theirs.explain(source, target)))


def second_model(file_id: str | None, name: str, file: BinaryIO | None) -> models.Model | None:
    """The checkpoint in an uploaded file, read once; without a file the shipped one, when another is current.

    Raises:
        ModelError: it is not a usable checkpoint.
    """
    if file is None or file_id is None:
        shipped = models.shipped_model()
        return shipped if shipped.digest != state.model().digest else None
    kept_id, kept = st.session_state.get(UPLOADED, (None, None))
    if kept_id != file_id:
        try:
            kept = models.uploaded_model(name, file)
        except models.ModelError as error:
            kept = error
        st.session_state[UPLOADED] = (file_id, kept)
    if isinstance(kept, models.ModelError):
        raise kept
    return kept
