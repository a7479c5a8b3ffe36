"""Greedy and beam search over any scorer of next tokens: they know no model."""

from core.decoding.beam import Progress, beam_search, beam_steps, check_prefix, run_search
from core.decoding.greedy import greedy_search
from core.decoding.next_tokens import NextLogits, NonFiniteError
from core.decoding.options import SearchOptions
from core.decoding.states import BeamState, Candidate, Fate, Hypothesis, Stop, best_hypotheses

__all__ = [
    "BeamState",
    "Candidate",
    "Fate",
    "Hypothesis",
    "NextLogits",
    "NonFiniteError",
    "Progress",
    "SearchOptions",
    "Stop",
    "beam_search",
    "beam_steps",
    "best_hypotheses",
    "check_prefix",
    "greedy_search",
    "run_search",
]
