"""Mask-predict against a loop over one candidate, with a random scorer."""

import itertools
from functools import cache
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from core.decoding import Length, MaskPredictOptions, MaskPredictState, NonFiniteError, mask_predict, mask_predict_steps
from core.decoding.mask_predict import best_length

PAD, BOS, EOS, MASK = 0, 1, 2, 3
VOCAB_SIZE = 12


def options(**changes: Any) -> MaskPredictOptions:
    return MaskPredictOptions(**{"mask_id": MASK, "eos_id": EOS, "pad_id": PAD, "never": (BOS,), **changes})


@cache
def logits_for(seed: int, fed: tuple[int, ...]) -> Tensor:
    """Random but fixed logits [T, V] of a target without padding."""
    return 2 * torch.randn(len(fed), VOCAB_SIZE, generator=torch.Generator().manual_seed(hash((seed, fed)) % 2**31))


def scorer(fed: Tensor, masked: Tensor, rows: Tensor) -> Tensor:
    found: list[Tensor] = []
    for ids, mask, row in zip(fed.tolist(), masked, rows.tolist(), strict=True):
        count = ids.index(EOS) + 1
        assert all(token_id == PAD for token_id in ids[count:])
        found.append(logits_for(row, tuple(ids[:count]))[mask[:count]])
    return torch.cat(found)


def refined(row: int, length: int, iterations: int) -> list[tuple[tuple[int, ...], list[int], list[float]]]:
    """Input, tokens and log-probabilities after each iteration, as the paper words it."""
    count = length - 1
    token_ids, log_probs, masked, found = [MASK] * count, [0.0] * count, list(range(count)), []
    for iteration in range(1, iterations + 1):
        fed = (*(MASK if n in masked else token_ids[n] for n in range(count)), EOS)
        scores = logits_for(row, fed).log_softmax(-1)
        scores[:, [PAD, BOS, EOS, MASK]] = -torch.inf
        for n in masked:
            log_probs[n], token_ids[n] = float(scores[n].max()), int(scores[n].argmax())
        found.append((fed, [*token_ids], [*log_probs]))
        masked = sorted(range(count), key=lambda n: log_probs[n])[: count * (iterations - iteration) // iterations]
        if not masked:
            break
    return found


@settings(max_examples=50)
@given(
    lengths=st.lists(st.lists(st.integers(2, 12), min_size=1, max_size=3), min_size=1, max_size=3),
    iterations=st.integers(1, 12),
)
def test_as_one_candidate_after_the_other(lengths: list[list[int]], iterations: int) -> None:
    candidates = [[Length(length, -float(number)) for number, length in enumerate(of)] for of in lengths]
    states = [each for step in mask_predict_steps(scorer, candidates, options(iterations=iterations)) for each in step]
    found = iter(mask_predict(scorer, candidates, options(iterations=iterations)))
    row = 0
    for sentence, of in enumerate(lengths):
        ends: list[MaskPredictState] = []
        for number, length in enumerate(of):
            own = [state for state in states if (state.sentence, state.candidate) == (sentence, number)]
            expected = refined(row, length, iterations)
            assert [(state.fed_ids, [*state.token_ids]) for state in own] == [
                (fed, [*token_ids, EOS]) for fed, token_ids, _ in expected
            ]
            for state, (_, _, log_probs) in zip(own, expected, strict=True):
                assert state.token_log_probs == pytest.approx([*log_probs, -number], abs=1e-5)
            for state, later in itertools.pairwise(own):
                assert [n for n, token_id in enumerate(later.fed_ids) if token_id == MASK] == [*state.masked_next]
            assert own[-1].masked_next == ()
            ends.append(own[-1])
            row += 1
        hypotheses = next(found)
        assert [hypothesis.score for hypothesis in hypotheses] == sorted(
            (sum(state.token_log_probs[:-1]) / (state.length.tokens - 1) for state in ends), reverse=True
        )
        assert {hypothesis.token_ids for hypothesis in hypotheses} == {state.token_ids for state in ends}


def test_the_length_counts_in_the_log_probability_and_not_in_the_score() -> None:
    ((best,),) = mask_predict(scorer, [[Length(4, -7.0)]], options())
    assert best.finished
    assert best.log_prob == pytest.approx(sum(best.token_log_probs))
    assert best.score == pytest.approx((best.log_prob + 7.0) / 3)


@pytest.mark.parametrize("seed", range(4))
def test_the_iterations_of_the_best_length_end_with_the_best_translation(seed: int) -> None:
    candidates = [[Length(2 + (seed + number) % 5, -float(number)) for number in range(3)]]
    steps = [*mask_predict_steps(scorer, candidates, options(iterations=4))]
    states = best_length(steps)
    assert [state.iteration for state in states] == [*range(1, len(states) + 1)]
    assert len({state.candidate for state in states}) == 1
    assert states[-1].masked_next == ()
    assert states[-1].hypothesis == mask_predict(scorer, candidates, options(iterations=4))[0][0]


def test_logits_that_are_not_finite_are_an_error() -> None:
    def broken(fed: Tensor, masked: Tensor, rows: Tensor) -> Tensor:
        return scorer(fed, masked, rows) * torch.nan

    with pytest.raises(NonFiniteError, match=r"not finite \(NaN or infinite\) in iteration 1: its weights are damaged"):
        mask_predict(broken, [[Length(4, 0.0)]], options())


@pytest.mark.parametrize("name", ["iterations", "length_candidates"])
@pytest.mark.parametrize("value", [0, 65, 1.5, True])
def test_options_are_checked(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=rf"^{name} \({value}\) must be an integer from 1 to 64$"):
        options(**{name: value})
