"""Which heads a session has switched, and what that does to its translation."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from core.analysis.attribution.gradients import attention_gradients, head_importance
from core.analysis.heads.ablation import GateEffect, ablate_each_head, gate_effect
from core.analysis.heads.gated_translation import translate_gated
from core.analysis.heads.head import Head, all_heads
from viz_app.session import permalink
from viz_app.session.jobs import Job
from viz_app.session.memory import Memory
from viz_app.session.models import Model
from viz_app.session.readings import Reading
from viz_app.session.state import session_object

if TYPE_CHECKING:
    from collections.abc import Hashable

    from core import ScoredText

GATES = "gates"  # where a session keeps its switches
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
class HeadsOff:
    """The effect of each head off alone on the log-probability of a hypothesis.

    Attributes:
        identity: of the reading.
        changes: of the log-probability, in nats, of the heads measured so far.
    """

    identity: "Hashable"
    heads: Sequence[Head]
    changes: dict[Head, float]
    job: Job


@dataclass
class HeadsOffSlot:
    """The session's measurement."""

    measured: HeadsOff | None = None


def heads_off(about: Reading, start: bool) -> HeadsOff:
    """Return the session's measurement of this hypothesis.

    Args:
        start: whether a new one is running from the beginning.
    """
    slot = session_object(HeadsOffSlot)
    if slot.measured is None or slot.measured.identity != about.identity:
        slot.measured = _measurement(about, start)
    return slot.measured


def _measurement(about: Reading, start: bool) -> HeadsOff:
    translator, changes = about.model.translator, dict[Head, float]()

    def steps() -> Iterator[int]:
        for head, effect in ablate_each_head(translator, about.translation.source, about.hypothesis.token_ids):
            changes[head] = effect.change
            yield 1

    heads = all_heads(translator.model)
    return HeadsOff(about.identity, heads, changes, Job(steps(), len(heads), "heads", start))
