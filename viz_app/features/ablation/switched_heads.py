"""Which heads a session has switched, and what that does to its translation."""

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import streamlit as st

from core.analysis.attribution.gradients import attention_gradients, head_importance
from core.analysis.heads.ablation import GateEffect, each_head_off, gate_effect
from core.analysis.heads.gated_translation import translate_gated
from core.analysis.heads.head import Head, all_heads
from viz_app.session import permalink
from viz_app.session.memory import Memory
from viz_app.session.models import Model
from viz_app.session.readings import Reading

if TYPE_CHECKING:
    from collections.abc import Hashable

    from core import ScoredText

# Where a session keeps its switches, and what it has measured of each head.
GATES, MEASURED = "gates", "measured_heads"
SWITCHED = "switched"  # their name in the address, and in the session what was wrong with them there
_NAMED = re.compile(r"(encoder|decoder|cross) L(\d{1,3}) H(\d{1,3})(?: (0(?:\.\d{1,2})?))?")


@st.cache_resource(show_spinner=False)
def _gated_translations() -> "Memory[ScoredText]":
    return Memory(64)


@st.cache_resource(show_spinner=False)
def _gate_effects() -> Memory[GateEffect]:
    return Memory(64)


@st.cache_resource(show_spinner=False)
def _importances() -> Memory[dict[Head, float]]:
    return Memory(64)


def gates(model: Model) -> dict[Head, float]:
    """The heads of this model that are not as they were."""
    digest, found = st.session_state.get(GATES, (None, {}))
    return found if digest == model.digest else {}


def switch(model: Model, heads: Sequence[Head], gate: float) -> None:
    """Set heads to a gate; if they all have it already, back to 1."""
    st.session_state[SWITCHED] = ""
    old = gates(model)
    new = 1.0 if all(old.get(head, 1.0) == gate for head in heads) else gate
    changed = old | dict.fromkeys(heads, new)
    st.session_state[GATES] = (model.digest, {head: value for head, value in changed.items() if value != 1.0})


def read_address(model: Model) -> str:
    """Switch what the address names, when the session begins.

    Returns:
        Why nothing was switched, until something is; else nothing.
    """
    if SWITCHED not in st.session_state:
        st.session_state[SWITCHED] = ""
        try:
            named = _named(model, st.query_params.get(SWITCHED, ""))
            if named:
                st.session_state[GATES] = (model.digest, named)
        except ValueError as error:
            st.session_state[SWITCHED] = str(error)
    return st.session_state[SWITCHED]


def _named(model: Model, text: str) -> dict[Head, float]:
    """The heads and gates of `cross L5 H3, encoder L1 H2 0.5`; off where no gate is said.

    Raises:
        ValueError: it names what is not there, or no head at all.
    """
    heads = {str(head): head for head in all_heads(model.translator.model)}
    found: dict[Head, float] = {}
    for name in map(str.strip, text.split(",") if text else ()):
        named = _NAMED.fullmatch(name)
        if named is None:
            raise ValueError(
                f"the address holds {SWITCHED}={name}, expected heads such as 'cross L5 H3' or 'cross L5 H3 0.5': all "
                f"are on"
            )
        head = heads.get(f"{named[1]} L{int(named[2])} H{int(named[3])}")
        if head is None:
            raise ValueError(f"the address switches {name}, which {model.name} does not have: all its heads are on")
        found[head] = float(named[4] or 0)
    return found


def write_address(set_to: Mapping[Head, float]) -> None:
    """Name in the address what is switched, and by how much unless it is off."""
    named = ",".join(f"{head} {gate:g}" if gate else str(head) for head, gate in sorted(set_to.items()))
    permalink.put(SWITCHED, named)


def gated_translation(
    about: Reading, set_to: Mapping[Head, float], progress: Callable[[int, int], None] | None = None
) -> "ScoredText":
    """The best translation with these switches, by the search that the reading was made with; `progress` as for
    `translate_gated`.
    """
    search = about.search

    def translate() -> "ScoredText":
        return translate_gated(
            about.model.translator,
            search.text,
            set_to,
            search.beam_size,
            search.length_penalty,
            search.num_hypotheses,
            progress,
        )

    return _gated_translations().get((about.model.digest, search, frozenset(set_to.items())), translate)


def gated_effect(about: Reading, set_to: Mapping[Head, float]) -> GateEffect:
    """What these switches do to the log-probability of the hypothesis."""
    source, target = about.translation.source, about.hypothesis.token_ids
    return _gate_effects().get(
        (about.identity, frozenset(set_to.items())), lambda: gate_effect(about.model.translator, source, target, set_to)
    )


def importance(about: Reading) -> dict[Head, float]:
    """Of every head, by the gradient of the hypothesis' log-probability."""
    source, target = about.translation.source, about.hypothesis.token_ids
    return _importances().get(
        about.identity, lambda: head_importance(attention_gradients(about.model.translator, source, target))
    )


@dataclass
class Measurement:
    """Each head off alone, as far as it has got: whoever stops it can go on later.

    Attributes:
        found: change of the hypothesis' log-probability, in nats.
        running: whether the page is to go on with it.
    """

    identity: "Hashable"
    heads: Sequence[Head]
    steps: Iterator[tuple[Head, GateEffect]]
    running: bool
    found: dict[Head, float] = field(default_factory=dict[Head, float])
    turn: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def done(self) -> bool:
        return len(self.found) == len(self.heads)

    def let_run(self, running: bool) -> None:
        """Stop it, or go on with it."""
        self.running = running

    def advance(self) -> None:
        """One head more. A run of the page that was interrupted may still be at its last while the next one asks for
        more.
        """
        with self.turn:
            if not self.done:
                head, effect = next(self.steps)
                self.found[head] = effect.change


def measurement(about: Reading, at_once: bool) -> Measurement:
    """That of this session for this hypothesis; a new one is running if it is to begin `at_once`."""
    found: Measurement | None = st.session_state.get(MEASURED)
    if found is None or found.identity != about.identity:
        translator = about.model.translator
        steps = each_head_off(translator, about.translation.source, about.hypothesis.token_ids)
        found = st.session_state[MEASURED] = Measurement(about.identity, all_heads(translator.model), steps, at_once)
    return found
