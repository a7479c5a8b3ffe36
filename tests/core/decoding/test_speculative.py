"""Speculative decoding against greedy search, with random scorers as models and as drafts."""

from collections.abc import Sequence

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from core.decoding import NonFiniteError, SpeculativeStep, greedy_search, speculative_steps
from tests.core.decoding.toy_scorer import EOS, ToyScorer, options


class Chain:
    """A `ToyScorer` along one target, which is another one's with a share of noise."""

    def __init__(self, seed: int, eos_bonus: float, noise: float = 0.0) -> None:
        self.scorer, self.other = ToyScorer([seed], eos_bonus), ToyScorer([seed + 1], eos_bonus)
        self.seed, self.noise, self.fed = seed, noise, list[int]()
        self.calls = 0

    def __call__(self, token_ids: Sequence[int], start: int) -> Tensor:
        assert len(token_ids) > 0
        assert start <= len(self.fed)
        self.calls += 1
        self.fed = [*self.fed[:start], *token_ids]
        prefixes = [tuple(self.fed[: end + 1]) for end in range(start, len(self.fed))]
        own = torch.stack([self.scorer.logits_after(self.seed, prefix) for prefix in prefixes])
        other = torch.stack([self.other.logits_after(self.seed + 1, prefix) for prefix in prefixes])
        return (1 - self.noise) * own + self.noise * other


@settings(max_examples=50)
@given(
    seed=st.integers(0, 10**6),
    eos_bonus=st.floats(-4, 2),
    noise=st.sampled_from([0.0, 0.3, 0.5, 1.0]),
    draft_tokens=st.integers(1, 8),
    limit=st.integers(1, 20),
)
def test_the_result_is_that_of_greedy_search(seed: int, eos_bonus: float, noise: float, draft_tokens: int, limit: int):
    (expected,) = greedy_search(ToyScorer([seed], eos_bonus), [limit], options(1))
    model, draft = Chain(seed, eos_bonus), Chain(seed, eos_bonus, noise)
    steps = list(speculative_steps(model, draft, limit, options(1), draft_tokens))
    found = steps[-1].hypothesis
    assert (found.token_ids, found.finished) == (expected.token_ids, expected.finished)
    assert found.token_log_probs == pytest.approx(expected.token_log_probs, abs=1e-5)
    assert model.calls == len(steps)
    assert draft.calls == sum(len(step.drafted) for step in steps)
    done: list[int] = []
    for step in steps:
        assert len(step.drafted) <= draft_tokens
        assert step.added[: step.accepted] == step.drafted[: step.accepted]
        assert len(step.added) in (step.accepted, step.accepted + 1)
        if step.accepted < len(step.drafted):
            assert step.added[step.accepted] != step.drafted[step.accepted]
        done += step.added
        assert step.hypothesis.token_ids == tuple(done)
    if noise == 0:
        check_identical(steps, draft_tokens)


def check_identical(steps: list[SpeculativeStep], draft_tokens: int) -> None:
    """A draft model that equals the model is always right: each step adds one token more than it drafts."""
    for step in steps[:-1]:
        assert step.accepted == len(step.drafted) == draft_tokens
        assert len(step.added) == draft_tokens + 1
    assert steps[-1].accepted == len(steps[-1].drafted)


def test_nothing_is_drafted_after_the_end() -> None:
    (step,) = speculative_steps(Chain(0, 50.0), Chain(0, 50.0), 9, options(1), 8)
    assert (step.drafted, step.accepted, step.added) == ((EOS,), 1, (EOS,))


@pytest.mark.parametrize("number", [0, 33, 2.0, True])
def test_numbers_of_drafted_tokens_are_checked(number: int) -> None:
    with pytest.raises(ValueError, match=rf"^draft_tokens \({number}\) must be an integer from 1 to 32$"):
        next(speculative_steps(Chain(0, 0.0), Chain(0, 0.0), 9, options(1), number))


def test_a_beam_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^beam_size \(4\) must be 1 for speculative decoding: only greedy"):
        next(speculative_steps(Chain(0, 0.0), Chain(0, 0.0), 9, options(4)))


def test_logits_that_are_not_finite_are_an_error() -> None:
    def broken(token_ids: Sequence[int], start: int) -> Tensor:
        return torch.full((len(token_ids), 6), torch.nan)

    with pytest.raises(NonFiniteError, match=r"not finite \(NaN or infinite\) at position 1: its weights"):
        next(speculative_steps(broken, Chain(0, 0.0), 9, options(1)))
