"""The three models of the page Generation, their results with their times, and the calls that give them."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import streamlit as st

from core.analysis.recorded_call import Call
from core.decoding import MaskPredictState, SpeculativeStep, run_search
from core.decoding.mask_predict import best_length
from core.files.shipped_files import shipped_checkpoint
from core.mask_predict_translation import mask_predict_states
from core.results import ScoredText
from core.speculative_translation import translate_speculatively
from viz_app.session import models
from viz_app.session.models import MODEL_HASH, Model, ModelError, model_at
from viz_app.session.open_models import OpenModels
from viz_app.session.python_code import translator
from viz_app.session.state import session_object

DRAFT, MASK_PREDICT = shipped_checkpoint("en-de-draft"), shipped_checkpoint("en-de-mask-predict")


@dataclass(frozen=True)
class ComparedModels:
    """Models of the page."""

    one_by_one: Model  # predicts one token after the other
    draft: Model | None  # drafts for it; None if there is none with its vocabulary
    at_once: Model | None  # predicts all tokens at once; None if there is none


def compared_models(current: Model) -> ComparedModels:
    """Return the current model with open or shipped ones that fit it.

    Raises:
        ModelError: there is no model that predicts one token after the other.
    """
    opened = [current, *session_object(OpenModels).all()]
    one_by_one = _first(opened, lambda each: each.kind == "translation") or model_at(models.translation_checkpoint())
    return ComparedModels(
        one_by_one,
        _first(
            [*opened[1:], *_shipped(DRAFT)], lambda each: each.kind == "translation" and drafts_for(each, one_by_one)
        ),
        _first([*opened, *_shipped(MASK_PREDICT)], lambda each: each.kind == "mask-predict"),
    )


def _first(offered: Iterable[Model], is_fitting: Callable[[Model], bool]) -> Model | None:
    return next(filter(is_fitting, offered), None)


def _shipped(path: models.Path) -> list[Model]:
    try:
        return [model_at(path)]
    except ModelError:  # not in this installation
        return []


def drafts_for(model: Model, large: Model) -> bool:
    """Whether a model is smaller than another one of the same vocabulary."""
    sizes = [sum(parameter.numel() for parameter in each.translator.model.parameters()) for each in (model, large)]
    return sizes[0] < sizes[1] and model.translator.tokenizer.to_bytes() == large.translator.tokenizer.to_bytes()


T = TypeVar("T")
RUNS, ENOUGH = 3, 0.3  # of so many runs the fastest counts; no other one begins after so many seconds


@dataclass(frozen=True)
class TimedResult(Generic[T]):
    """A result with the seconds of its computation."""

    result: T
    seconds: float


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=MODEL_HASH)
def searched(model: Model, text: str, beam_size: int, length_penalty: float) -> TimedResult[ScoredText]:
    """Translate with greedy or beam search."""
    options = model.translator.setup.options(beam_size, length_penalty, 1)

    def run() -> ScoredText:
        [best] = run_search(model.translator.search(text, beam_size, length_penalty, 1), options)
        return model.translator.codec.scored_text(best)

    return _measured(run)


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=MODEL_HASH)
def drafted(model: Model, draft: Model, text: str, draft_tokens: int) -> TimedResult[tuple[SpeculativeStep, ...]]:
    """Translate with speculative decoding."""
    return _measured(lambda: tuple(translate_speculatively(model.translator, text, draft.translator, draft_tokens)))


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=MODEL_HASH)
def refined(model: Model, text: str, iterations: int, candidates: int) -> TimedResult[tuple[MaskPredictState, ...]]:
    """Translate with mask-predict: the iterations of the best length candidate."""

    return _measured(lambda: tuple(best_length(mask_predict_states(model.translator, text, iterations, candidates))))


def _measured(run: Callable[[], T]) -> TimedResult[T]:
    timed: list[TimedResult[T]] = []
    while len(timed) < RUNS and sum(each.seconds for each in timed) < ENOUGH:
        began = time.perf_counter()
        result = run()
        timed.append(TimedResult(result, time.perf_counter() - began))
    return min(timed, key=lambda each: each.seconds)


# --- recorded calls -------------------------------------------------------------------------------------------------


def search_call(model: Model, text: str, beam_size: int, length_penalty: float, found: ScoredText) -> Call:
    """Return the call of greedy or beam search, which has found a translation."""
    translation = Call("translation", "translate", (translator(model), text, beam_size, length_penalty, 1))
    return Call("best", "[]", (Call("hypotheses", ".hypotheses", (translation,)), 0)).returning(found)


def drafted_call(model: Model, draft: Model, text: str, draft_tokens: int, found: Sequence[SpeculativeStep]) -> Call:
    """Return the call of speculative decoding, which has made these checks."""
    arguments = translator(model), text, translator(draft, "draft"), draft_tokens
    return Call("checks", list, (Call("decoding", translate_speculatively, arguments),)).returning(found)


def refined_call(model: Model, text: str, iterations: int, candidates: int, found: Sequence[MaskPredictState]) -> Call:
    """Return the call of mask-predict, whose best length candidate had these iterations."""
    steps = Call("steps", mask_predict_states, (translator(model), text, iterations, candidates))
    return Call("states", best_length, (steps,)).returning(found)
