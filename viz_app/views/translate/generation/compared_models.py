"""The three models of the page Generation, their timed results, and Python that computes its tables."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

import streamlit as st

from core.decoding import MaskPredictState, SpeculativeStep, run_search
from core.files.shipped_files import shipped_checkpoint
from core.results import ScoredText
from viz_app.session import models
from viz_app.session.models import MODEL_HASH, Model, ModelError, model_at
from viz_app.session.open_models import OpenModels
from viz_app.session.python_code import model_part
from viz_app.session.state import session_object

DRAFT, MASK_PREDICT = shipped_checkpoint("en-de-draft"), shipped_checkpoint("en-de-mask-predict")


@dataclass(frozen=True)
class ComparedModels:
    """Models of the page.

    Attributes:
        one_by_one: predicts one token after the other.
        draft: drafts for it; None if there is none with its vocabulary.
        at_once: predicts all tokens at once; None if there is none.
    """

    one_by_one: Model
    draft: Model | None
    at_once: Model | None


def compared_models(current: Model) -> ComparedModels:
    """Return the current model with open or shipped ones that fit it.

    Raises:
        ModelError: there is no model that predicts one token after the other.
    """
    one_by_one = current if current.translates else next((each for each in _open() if each.translates), None)
    one_by_one = one_by_one or model_at(models.translation_checkpoint())
    drafts = [*_open(), *_shipped(DRAFT)]
    all_at_once = [*([current] if current.mask_predicts else []), *_open(), *_shipped(MASK_PREDICT)]
    return ComparedModels(
        one_by_one,
        next((each for each in drafts if each.translates and drafts_for(each, one_by_one)), None),
        next((each for each in all_at_once if each.mask_predicts), None),
    )


def _open() -> Iterator[Model]:
    yield from session_object(OpenModels).all()


def _shipped(path: models.Path) -> list[Model]:
    try:
        return [model_at(path)]
    except ModelError:  # not in this installation
        return []


def drafts_for(model: Model, large: Model) -> bool:
    """Whether a model is smaller than another one of the same vocabulary."""
    sizes = [sum(parameter.numel() for parameter in each.translator.model.parameters()) for each in (model, large)]
    return sizes[0] < sizes[1] and model.translator.tokenizer.to_bytes() == large.translator.tokenizer.to_bytes()


def searches_part(compared: ComparedModels, text: str, settings: Mapping[str, tuple[int, float]]) -> str:
    """Make the `table` of searches, by name with beam size and length penalty."""
    return f"""
{model_part(compared.one_by_one)}
from viz_app.views.translate.generation.figures import rows_table, search_rows
found = [
    (name, translator.translate({text!r}, beam_size, length_penalty, 1).hypotheses[0])
    for name, (beam_size, length_penalty) in {settings}.items()
]
table = rows_table(search_rows(found))""".strip()


def speculative_part(compared: ComparedModels, draft: Model, text: str, draft_tokens: int) -> str:
    """Make the `table` of speculative decoding."""
    return f"""
{model_part(draft)}
draft = translator
{model_part(compared.one_by_one)}
from viz_app.views.translate.generation.figures import rows_table, speculative_rows
steps = list(translator.translate_speculatively({text!r}, draft, {draft_tokens}))
table = rows_table(speculative_rows(steps, translator))""".strip()


def mask_predict_part(model: Model, text: str, iterations: int, candidates: int, at: int | None = None) -> str:
    """Make the `table` of mask-predict, or the `maps` of iteration `at`, from 0."""
    end = (
        """
from viz_app.views.translate.generation.figures import mask_predict_rows, rows_table
table = rows_table(mask_predict_rows(states, translator))"""
        if at is None
        else f"""
explanation = translator.explain_iteration({text!r}, states[{at}])"""
    )
    return f"""
{model_part(model)}
steps = list(translator.mask_predict({text!r}, {iterations}, {candidates}))
last = {{state.candidate: state for step in steps for state in step}}
best = max(last.values(), key=lambda state: state.hypothesis.score).candidate
states = [state for step in steps for state in step if state.candidate == best]{end}""".strip()


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
    timed: list[TimedResult[T]] = []
    for _ in range(RUNS):
        began = time.perf_counter()
        result = run()
        timed.append(TimedResult(result, time.perf_counter() - began))
    return min(timed, key=lambda each: each.seconds)
