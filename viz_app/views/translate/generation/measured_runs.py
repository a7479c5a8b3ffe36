"""Translations of one sentence in three ways, with the time that each takes, all by the model's own modules."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import streamlit as st

from core.decoding import MaskPredictState, SpeculativeStep, run_search
from core.results import ScoredText
from viz_app.session.models import MODEL_HASH, Model

T = TypeVar("T")
RUNS = 3  # of which the fastest counts


@dataclass(frozen=True)
class TimedResult(Generic[T]):
    """A result with the seconds of its computation."""

    result: T
    seconds: float


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=MODEL_HASH)
def searched(model: Model, text: str, beam_size: int, length_penalty: float) -> TimedResult[ScoredText]:
    """Translate with greedy or beam search."""
    translator = model.translator
    options = translator.search_options(beam_size, length_penalty, 1)

    def run() -> ScoredText:
        [best] = run_search(translator.search(text, beam_size, length_penalty, 1), options)
        return translator.scored_text(best)

    return _measured(run)


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=MODEL_HASH)
def drafted(model: Model, draft: Model, text: str, draft_tokens: int) -> TimedResult[tuple[SpeculativeStep, ...]]:
    """Translate with speculative decoding."""
    translator = model.translator
    return _measured(lambda: tuple(translator.translate_speculatively(text, draft.translator, draft_tokens)))


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=MODEL_HASH)
def refined(model: Model, text: str, iterations: int, candidates: int) -> TimedResult[tuple[MaskPredictState, ...]]:
    """Translate with mask-predict: the iterations of the best length candidate."""

    def run() -> tuple[MaskPredictState, ...]:
        steps = list(model.translator.mask_predict(text, iterations, candidates))
        last = {state.candidate: state for step in steps for state in step}
        best = max(last.values(), key=lambda state: state.hypothesis.score).candidate
        return tuple(state for step in steps for state in step if state.candidate == best)

    return _measured(run)


def _measured(run: Callable[[], T]) -> TimedResult[T]:
    found: list[TimedResult[T]] = []
    for _ in range(RUNS):
        began = time.perf_counter()
        result = run()
        found.append(TimedResult(result, time.perf_counter() - began))
    return min(found, key=lambda each: each.seconds)
