"""The current reading: a sentence, its translation by one model, and the hypothesis that the pages explain."""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from viz_app.session.memory import Memory
from viz_app.session.models import Model

if TYPE_CHECKING:
    from core import Explanation, ScoredText, Translation
    from core.analysis.beam_tree import BeamTree
    from viz_app.components.sentence_bar import WordSelection


# Where a session keeps things that are no widget's value.
MODEL = "model"  # the current one
READING = "reading"  # what the pages are about
WORDS = "words_selected"  # the selected words, everywhere
FORCED = "forced"  # which target is looked at though it is none of the hypotheses found
FORCED_INDEX = -1  # what the choice of hypothesis calls it


@st.cache_resource(show_spinner=False)
def translations() -> "Memory[Translation]":
    """All sessions' translations, by model digest, text and settings."""
    return Memory(256)


@st.cache_resource(show_spinner=False)
def explanations() -> "Memory[Explanation]":
    """All sessions' explanations, by model digest, text and target; few, as one of 512 tokens takes 150 MB."""
    return Memory(12)


@st.cache_resource(show_spinner=False)
def forced_targets() -> "Memory[ScoredText]":
    """All sessions' forced targets, by model digest, search and what was forced."""
    return Memory(128)


@st.cache_resource(show_spinner=False)
def beam_trees() -> "Memory[BeamTree]":
    """The trees of the last searches."""
    return Memory(12)


@dataclass(frozen=True)
class Search:
    """What was asked for."""

    text: str
    beam_size: int
    length_penalty: float
    num_hypotheses: int

    def run(self, model: Model, progress: Callable[[int, int], None]) -> "Translation":
        """Raises: ValueError, when the text cannot be translated; the message says why."""
        translate = model.translator.translate
        return translations().get(
            (model.digest, self),
            lambda: translate(self.text, self.beam_size, self.length_penalty, self.num_hypotheses, progress),
        )


@dataclass(frozen=True)
class Forced:
    """A target that somebody else than the search chose, or the beginning of one.

    Attributes:
        prefix: the tokens that the search is made to begin with.
        target: the tokens that are looked at, a whole translation if they end with `</s>`; None: the best with that
            prefix.
    """

    prefix: tuple[int, ...] = ()
    target: tuple[int, ...] | None = None

    def run(self, model: Model, search: Search, progress: Callable[[int, int], None]) -> "ScoredText":
        """Raises: ValueError, when no translation of the text by this model can be, or begin, so; the message says
        why.
        """
        translator = model.translator

        def compute() -> "ScoredText":
            if self.target is not None:
                return translator.score(search.text, self.target, search.length_penalty)
            found = translator.translate(search.text, search.beam_size, search.length_penalty, 1, progress, self.prefix)
            return found.hypotheses[0]

        return forced_targets().get((model.digest, search, self), compute)


@dataclass(frozen=True)
class Reading:
    """One sentence, its translations by one model, and the hypothesis that is looked at."""

    model: Model
    search: Search
    translation: "Translation"
    index: int  # of the hypothesis, 0 the best; `FORCED_INDEX` for the forced one
    forced: "ScoredText | None" = None  # a target that the search did not choose, such as the beginning of one
    forced_as: Forced | None = None  # what of it was forced

    @property
    def hypothesis(self) -> "ScoredText":
        if self.index == FORCED_INDEX and self.forced is not None:
            return self.forced
        return self.translation.hypotheses[self.index]

    @property
    def prefix(self) -> tuple[int, ...]:
        """The tokens that the search for the hypothesis was forced to begin with."""
        return self.forced_as.prefix if self.index == FORCED_INDEX and self.forced_as is not None else ()

    @property
    def explanation(self) -> "Explanation":
        """Of the hypothesis; computed when first asked for."""
        source, target = self.translation.source, self.hypothesis.token_ids
        return explanations().get(self.identity, lambda: self.model.translator.explain(source, target))

    @property
    def identity(self) -> Hashable:
        """Equal for readings of the same tokens by the same model."""
        return self.model.digest, self.translation.source, self.hypothesis.token_ids


def model() -> Model:
    """The current one; there is no page without."""
    return st.session_state[MODEL]


def reading() -> Reading | None:
    """What the pages are about; None when there is no sentence that can be translated."""
    return st.session_state.get(READING)


def selected_words(about: Reading) -> "tuple[WordSelection, ...]":
    """The words that are selected everywhere, in the order in which they were, if they are of this reading."""
    identity, words = st.session_state.get(WORDS, (None, ()))
    return words if identity == about.identity else ()


def select_words(about: Reading, words: "Iterable[WordSelection]") -> None:
    """Select these words everywhere, and no others."""
    st.session_state[WORDS] = (about.identity, tuple(words))


def forced(model: Model, search: Search) -> Forced | None:
    """What was chosen by `force` for this sentence and this model."""
    identity, target = st.session_state.get(FORCED, (None, None))
    return target if identity == (model.digest, search.text) else None


def force(model: Model, search: Search, target: Forced) -> None:
    """Make any target, finished or not, the one that all pages explain. To be called before the page runs."""
    st.session_state[FORCED] = ((model.digest, search.text), target)
    st.session_state["hypothesis"] = FORCED_INDEX


def look_at(about: Reading, target: "ScoredText") -> None:
    """The same for a target of the search that is looked at, which may be one of the hypotheses found. To be called
    before the page runs.
    """
    found = [hypothesis.token_ids for hypothesis in about.translation.hypotheses]
    if target.token_ids in found and not about.prefix:
        st.session_state["hypothesis"] = found.index(target.token_ids)
    else:
        force(about.model, about.search, Forced(about.prefix, target.token_ids))


def new_sentence(text: str | None = None) -> None:
    """Begin with the best hypothesis again. With `text`, as if it had been typed."""
    if text is not None:
        st.session_state["text"] = text
    st.session_state["hypothesis"] = 0
