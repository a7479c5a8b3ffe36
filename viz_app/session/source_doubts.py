"""What makes the translation of a sentence doubtful, and a better input, found when the page has been drawn."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import streamlit as st

from viz_app.session import model_paths
from viz_app.session.models import MODEL_HASH, Model, ModelError
from viz_app.session.readings import Reading
from viz_app.session.state import kept

if TYPE_CHECKING:
    from core.analysis.unfamiliar_source import SourceLanguage


class Doubts(NamedTuple):
    """What there is to say of a sentence; all of it false if there is nothing."""

    by_modules: bool  # the model itself has translated, as the fast search computes something else
    problem: Literal["unknown", "capitals", "other_language", "unseen", ""]  # of the source
    unseen: tuple[str, ...]  # characters that the vocabulary lacks, without those that were copied
    plainer: str  # the source in a plainer form, if it has a problem and can be read so
    has_fewer: bool  # the translation has fewer sentences


def doubts(reading: Reading) -> Doubts:
    """Return the doubts about a reading, which may run the model once."""
    known_for = reading.identity, reading.forced, reading.translation.by_modules
    return kept("doubts_about_the_source", known_for, lambda: _doubts(reading))


def _doubts(reading: Reading) -> Doubts:
    from core.analysis.unfamiliar_source import source_problem
    from core.analysis.unseen_characters import not_copied
    from core.text.sentences import missing_sentences

    model, translation = reading.model, reading.translation
    lacking, plainer = _unseen(model, translation.source)
    unseen = not_copied(lacking, reading.hypothesis.text)
    problem = source_problem(translation, source_language(model)) or ("unseen" if unseen else "")
    plainer = plainer if problem and model.parser is None else ""
    has_fewer = missing_sentences(translation.source, reading.hypothesis.text) > 0
    has_fewer = has_fewer and model.parser is None and reading.forced is None
    return Doubts(translation.by_modules, problem, unseen, plainer, has_fewer)


@st.cache_resource(max_entries=8, show_spinner=False, hash_funcs=MODEL_HASH)
def source_language(model: Model) -> "SourceLanguage | None":
    """Return the language that a model translates from; None if there is no index of it to know it by."""
    from core.analysis.corpus.index_file import index_beside
    from core.analysis.unfamiliar_source import language_by_index

    try:
        path = model_paths.file_beside(index_beside(Path(model.path)))
    except ModelError:  # the page Corpus says why an index cannot be used
        return None
    return language_by_index(path, model.digest, model.translator) if path else None


@st.cache_resource(max_entries=256, show_spinner=False, hash_funcs=MODEL_HASH)
def _unseen(model: Model, source: str) -> tuple[tuple[str, ...], str]:
    """Characters that the vocabulary lacks, and the source in a plainer form, if one can be read."""
    from core.analysis.unfamiliar_source import UNKNOWN_SHARE, without_capitals
    from core.analysis.unseen_characters import Alphabet
    from core.text.text_normalization import normalized

    alphabet = Alphabet(model.translator.tokenizer)
    plainer = alphabet.plain_form(source)
    lacking = {*alphabet.unseen(plainer)}
    is_unknown = sum(character in lacking for character in plainer) > UNKNOWN_SHARE * len(plainer)
    plainer = without_capitals(plainer) or plainer
    return alphabet.unseen(source), "" if is_unknown or plainer == normalized(source) else plainer
