"""Searches for translations over any scorer of tokens, independent of the model."""

from core.decoding.beam import Progress, beam_search, beam_steps, check_beginning, run_search
from core.decoding.constraints import FREE, Beginning, Constraints, Forbidden, forbidden_token
from core.decoding.greedy import greedy_search
from core.decoding.mask_predict import (
    Length,
    MaskedLogits,
    MaskPredictOptions,
    MaskPredictState,
    mask_predict,
    mask_predict_steps,
)
from core.decoding.next_tokens import NextLogits, NonFiniteError
from core.decoding.sampling import Sampling, sample_search
from core.decoding.speculative import ChainLogits, SpeculativeStep, speculative_steps
from core.decoding.states import BeamState, Candidate, Fate, Hypothesis, SearchOptions, Stop, best_hypotheses

__all__ = [
    "FREE",
    "BeamState",
    "Beginning",
    "Candidate",
    "ChainLogits",
    "Constraints",
    "Fate",
    "Forbidden",
    "Hypothesis",
    "Length",
    "MaskPredictOptions",
    "MaskPredictState",
    "MaskedLogits",
    "NextLogits",
    "NonFiniteError",
    "Progress",
    "Sampling",
    "SearchOptions",
    "SpeculativeStep",
    "Stop",
    "beam_search",
    "beam_steps",
    "best_hypotheses",
    "check_beginning",
    "forbidden_token",
    "greedy_search",
    "mask_predict",
    "mask_predict_steps",
    "run_search",
    "sample_search",
    "speculative_steps",
]
