"""Switched heads, whose output is scaled, and their effect on the translation."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from core.analysis.attribution.gradients import attention_gradients, head_importance
from core.analysis.heads.ablation import HeadsOff, ablate_each_head, gate_effect, head_changes
from core.analysis.heads.gated_translation import translate_gated
from core.analysis.heads.head import Head, all_heads
from core.analysis.recorded_call import Call
from core.results import ScoredText
from viz_app.language import marked
from viz_app.session import python_code
from viz_app.session.jobs import Job, JobSlot
from viz_app.session.models import MODEL_HASH, Model
from viz_app.session.readings import Reading, Search, SearchProgress
from viz_app.session.state import session_object

DRAWS = 9  # of heads by lot, as a control
HeadGates = tuple[tuple[Head, float], ...]  # scaled heads and their factors, sorted, without factors of 1


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=MODEL_HASH)
def gated_translation(
    model: Model, search: Search, gates: HeadGates, _progress: SearchProgress | None = None
) -> ScoredText:
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


@python_code.with_result(max_entries=64)
def effect_call(about: Reading, gates: HeadGates) -> Call:
    """Return the call that measures the effect of these gates on the log-probability of the target."""
    return Call("effect", gate_effect, (*python_code.sentence(about), dict(gates)), {"draws": DRAWS})


def heads_off_call(about: Reading, gates: Mapping[Head, float], measured: "HeadsOffJob", weighed: bool = False) -> Call:
    """Return the call of what is measured of each head so far, with its importance by the gradient if it is wanted."""
    heads = Call("heads", all_heads, (Call("model", ".model", (python_code.translator(about.model),)),))
    changes = Call("changes", head_changes, (*python_code.sentence(about), len(measured.changes)))
    known = heads.returning(measured.heads), dict(gates), changes.returning(dict(measured.changes))
    weights = (importance_call(about),) if weighed else ()
    return Call("result", HeadsOff, (*known, *weights))


@python_code.with_result(max_entries=64)
def importance_call(about: Reading) -> Call:
    """Return the call that measures every head's importance by the gradient of the target's log-probability."""
    gradients = Call("gradients", attention_gradients, python_code.sentence(about))
    return Call("importance", head_importance, (gradients,))


@dataclass
class HeadsOffJob:
    """The change of a hypothesis's log-probability, in nats, with each head off alone, of those measured so far."""

    heads: Sequence[Head]
    changes: dict[Head, float]
    job: Job


class HeadsOffSlot(JobSlot[HeadsOffJob]):
    """The session's measurement."""


def heads_off(about: Reading, start: bool) -> HeadsOffJob:
    """Return the session's measurement of this hypothesis; a new one runs from the beginning if it is to start."""
    return session_object(HeadsOffSlot).of(about.identity, lambda: _measurement(about, start))


def _measurement(about: Reading, start: bool) -> HeadsOffJob:
    translator, changes = about.model.translator, dict[Head, float]()

    def steps() -> Iterator[int]:
        for head, effect in ablate_each_head(translator, about.translation.source, about.hypothesis.token_ids):
            changes[head] = effect.change
            yield 1

    heads = all_heads(translator.model)
    return HeadsOffJob(heads, changes, Job(steps(), len(heads), marked("heads"), start))
