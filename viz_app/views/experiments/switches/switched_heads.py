"""Switched heads, whose output is scaled, and their effect on the translation."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import streamlit as st

from core.analysis.attribution.gradients import attention_gradients, head_importance
from core.analysis.heads.ablation import GateEffect, ablate_each_head, gate_effect, head_changes
from core.analysis.heads.gated_translation import translate_gated
from core.analysis.heads.head import Head, all_heads
from core.analysis.recorded_call import Call
from viz_app.language import marked, tr
from viz_app.session import python_code
from viz_app.session.address import SWITCHED
from viz_app.session.job_slot import JobSlot
from viz_app.session.jobs import Job
from viz_app.session.models import MODEL_HASH, Model
from viz_app.session.readings import READING_HASH, Reading, Search, SearchProgress
from viz_app.session.state import session_object

if TYPE_CHECKING:
    from core import ScoredText

_HEAD_GATE = re.compile(r"(encoder|decoder|cross) L(\d{1,3}) H(\d{1,3})(?: (0(?:\.\d{1,2})?))?")
HeadGates = tuple[tuple[Head, float], ...]  # scaled heads and their factors, sorted, without factors of 1


@dataclass
class Switches:
    """The switched heads of a session.

    Attributes:
        digest: of the model whose heads they are.
        gates: what the output of each switched head is multiplied by.
        problem: why nothing was switched that the address asked for, or "".
    """

    digest: str = ""
    gates: dict[Head, float] = field(default_factory=dict[Head, float])
    problem: str = ""

    def of(self, model: Model) -> dict[Head, float]:
        """Return the switched heads of this model."""
        return self.gates if self.digest == model.digest else {}

    def switch(self, model: Model, heads: Sequence[Head], gate: float) -> None:
        """Set heads to a gate; if all of them have it already, back to 1."""
        old = self.of(model)
        new = 1.0 if all(old.get(head, 1.0) == gate for head in heads) else gate
        changed = old | dict.fromkeys(heads, new)
        self.problem, self.digest = "", model.digest
        self.gates = {head: value for head, value in changed.items() if value != 1.0}

    def restore(self, model: Model) -> None:
        """Switch the heads that the address names, at first and after going back."""
        if (named := SWITCHED.take()) is None:
            return
        try:
            self.digest, self.gates = model.digest, _parsed_gates(model, named.value)
        except ValueError as error:
            self.problem = str(error)


def _parsed_gates(model: Model, text: str) -> dict[Head, float]:
    """Parse heads and gates such as `cross L5 H3, encoder L1 H2 0.5`; a head without a gate is off.

    Raises:
        ValueError: it names no head, or one that the model does not have.
    """
    heads = {str(head): head for head in all_heads(model.translator.model)}
    gates: dict[Head, float] = {}
    for name in map(str.strip, text.split(",") if text else ()):
        parts = _HEAD_GATE.fullmatch(name)
        if parts is None:
            raise ValueError(
                tr(
                    "the address has {parameter}={name}, expected heads such as 'cross L5 H3' or 'cross L5 H3 0.5': "
                    "all heads are on",
                    parameter=SWITCHED.key,
                    name=name,
                )
            )
        head = heads.get(f"{parts[1]} L{int(parts[2])} H{int(parts[3])}")
        if head is None:
            raise ValueError(
                tr(
                    "the address switches {name}, which {model} does not have: all heads are on",
                    name=name,
                    model=model.name,
                )
            )
        gates[head] = float(parts[4] or 0)
    return gates


def write_address(gates: HeadGates) -> None:
    """Write the switched heads to the address, with their gates unless they are off."""
    names = ",".join(f"{head} {gate:g}" if gate else str(head) for head, gate in gates)
    SWITCHED.put(names)


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=MODEL_HASH)
def gated_translation(
    model: Model, search: Search, gates: HeadGates, _progress: SearchProgress | None = None
) -> "ScoredText":
    """Return the best translation with these gates."""
    return translate_gated(
        model.translator,
        search.text,
        dict(gates),
        search.beam_size,
        search.length_penalty,
        search.num_hypotheses,
        _progress,
        search.constraints(),
    )


def effect_call(about: Reading, gates: HeadGates) -> Call:
    """Return the call that measures the effect of these gates on the log-probability of the target."""
    return Call("effect", gate_effect, (*python_code.sentence(about), dict(gates)))


def importance_call(about: Reading) -> Call:
    """Return the call that measures every head's importance by the gradient of the target's log-probability."""
    gradients = Call("gradients", attention_gradients, python_code.sentence(about))
    return Call("importance", head_importance, (gradients,))


def changes_call(about: Reading, changes: Mapping[Head, float]) -> Call:
    """Return the call that turned heads off alone, with the changes measured so far."""
    known = dict(changes)
    return Call("changes", head_changes, (*python_code.sentence(about), len(known))).returning(known)


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=READING_HASH)
def gated_effect(about: Reading, gates: HeadGates) -> GateEffect:
    """Return the effect of these gates on the log-probability of the target."""
    return effect_call(about, gates).run()


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=READING_HASH)
def importance(about: Reading) -> Mapping[Head, float]:
    """Return every head's importance by the gradient of the target's log-probability."""
    return importance_call(about).run()


@dataclass
class HeadsOff:
    """The effect of each head off alone on the log-probability of a hypothesis.

    Attributes:
        changes: of the log-probability, in nats, of the heads measured so far.
    """

    heads: Sequence[Head]
    changes: dict[Head, float]
    job: Job


class HeadsOffSlot(JobSlot[HeadsOff]):
    """The session's measurement."""


def heads_off(about: Reading, start: bool) -> HeadsOff:
    """Return the session's measurement of this hypothesis.

    Args:
        start: whether a new one is running from the beginning.
    """
    return session_object(HeadsOffSlot).of(about.identity, lambda: _measurement(about, start))


def _measurement(about: Reading, start: bool) -> HeadsOff:
    translator, changes = about.model.translator, dict[Head, float]()

    def steps() -> Iterator[int]:
        for head, effect in ablate_each_head(translator, about.translation.source, about.hypothesis.token_ids):
            changes[head] = effect.change
            yield 1

    heads = all_heads(translator.model)
    return HeadsOff(heads, changes, Job(steps(), len(heads), marked("heads"), start))
