"""What the app remembers: translations and explanations for everybody, and for each session what its pages are about."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

import streamlit as st

from viz_app.models import Model

if TYPE_CHECKING:
    from core import Explanation, ScoredText, Translation

V = TypeVar("V")

# Where a session keeps things that are no widget's value.
READING = "reading"  # what the pages are about
WORD = "word"  # the selected word, everywhere


class Memory(Generic[V]):
    """The results of the last calls, shared between threads; the one used longest ago is forgotten first.

    Unlike `st.cache_data` it lets a computation draw its progress on the page.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: OrderedDict[Hashable, V] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, compute: Callable[[], V]) -> V:
        """What `compute` gave for this key; errors are not remembered."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
        value = compute()
        with self._lock:
            self._values[key] = value
            while len(self._values) > self._size:
                self._values.popitem(last=False)
        return value


@st.cache_resource(show_spinner=False)
def translations() -> "Memory[Translation]":
    """All sessions' translations, by model digest, text and settings."""
    return Memory(256)


@st.cache_resource(show_spinner=False)
def explanations() -> "Memory[Explanation]":
    """All sessions' explanations, by model digest, text and target; few, as one of 512 tokens takes 150 MB."""
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
        settings = {"beam_size": self.beam_size, "length_penalty": self.length_penalty, "num_hypotheses": self.num_hypotheses}
        return translations().get((model.digest, self), lambda: model.translator.translate(self.text, **settings, progress=progress))


@dataclass(frozen=True)
class Reading:
    """One sentence, its translations by one model, and the hypothesis that is looked at."""

    model: Model
    translation: "Translation"
    index: int  # of the hypothesis, 0 the best

    @property
    def hypothesis(self) -> "ScoredText":
        return self.translation.hypotheses[self.index]

    @property
    def explanation(self) -> "Explanation":
        """Of the hypothesis; computed when first asked for."""
        source, target = self.translation.source, self.hypothesis.token_ids
        return explanations().get((self.model.digest, source, target), lambda: self.model.translator.explain(source, target))


def reading() -> Reading | None:
    """What the pages are about; None when there is no sentence that can be translated."""
    return st.session_state.get(READING)


def new_sentence(text: str | None = None) -> None:
    """Start afresh: nothing of the last sentence stays selected. With `text`, as if it had been typed."""
    if text is not None:
        st.session_state["text"] = text
    st.session_state["hypothesis"] = 0
    st.session_state[WORD] = None
