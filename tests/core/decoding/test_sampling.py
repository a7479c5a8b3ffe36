"""Filters of sampling by enumeration over small vocabularies, and samples by the numbers they are drawn with."""

import itertools
import math
from collections import Counter
from dataclasses import replace
from random import Random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from core.decoding import Constraints, Forbidden, Hypothesis, NonFiniteError, Sampling, greedy_search, sample_search
from core.decoding.sampling import filtered, min_p_kept, top_k_kept, top_p_kept
from tests.core.decoding.toy_scorer import BOS, EOS, PAD, ToyScorer, options

distributions = st.lists(st.floats(-6, 2), min_size=1, max_size=7).map(
    lambda logits: torch.tensor(logits, dtype=torch.float64).log_softmax(-1)
)
share = st.floats(0.01, 1)


class Numbers(Random):
    """Gives these numbers instead of random ones."""

    def __init__(self, *numbers: float) -> None:
        super().__init__()
        self.numbers = iter(numbers)

    def random(self) -> float:
        return next(self.numbers)


def sampled(scorer: ToyScorer, sampling: Sampling, limit: int = 8, **further: object) -> list[Hypothesis]:
    numbers = sampling.random_numbers("a text")
    return sample_search(scorer, limit, options(), sampling, numbers, **further)  # type: ignore[arg-type]


@given(distributions, share)
def test_top_p_keeps_the_smallest_set_of_this_mass(log_probs: Tensor, mass: float) -> None:
    kept, probabilities = top_p_kept(log_probs, mass), log_probs.exp().tolist()
    ids = kept.nonzero().flatten().tolist()
    found = sum(probabilities[each] for each in ids)
    assert found >= mass - 1e-12
    for size in range(1, len(ids)):
        for others in itertools.combinations(probabilities, size):
            assert sum(others) < mass + 1e-12
    rest = [probability for each, probability in enumerate(probabilities) if each not in ids]
    assert max(rest, default=0) <= min(probabilities[each] for each in ids)


@given(distributions, st.integers(1, 9))
def test_top_k_keeps_those_with_fewer_than_k_above_them(log_probs: Tensor, count: int) -> None:
    values = log_probs.tolist()
    expected = [sum(other > value for other in values) < count for value in values]
    assert top_k_kept(log_probs, count).tolist() == expected


@given(distributions, share)
def test_min_p_keeps_a_share_of_the_most_probable(log_probs: Tensor, least: float) -> None:
    ratios = (log_probs - log_probs.max()).exp().tolist()
    for kept, ratio in zip(min_p_kept(log_probs, least).tolist(), ratios, strict=True):
        assert kept == (ratio >= least) or ratio == pytest.approx(least)


def test_equally_probable_tokens_stay_with_top_k_and_are_cut_by_top_p() -> None:
    log_probs = torch.tensor([0.4, 0.2, 0.2, 0.2], dtype=torch.float64).log()
    assert top_k_kept(log_probs, 2).tolist() == [True] * 4
    assert top_p_kept(log_probs, 0.55).tolist() == [True, True, False, False]
    assert top_p_kept(log_probs, 1e-9).tolist() == [True, False, False, False]
    assert top_p_kept(torch.zeros(4), 0.5).tolist() == [True, True, False, False]  # two have exactly a half


def by_hand(log_probs: list[float], sampling: Sampling) -> list[float]:
    """Temperature, top-k, top-p and min-p one after the other, with lists."""
    weights = [math.exp(each / sampling.temperature) for each in log_probs]

    def without(kept: list[bool]) -> list[float]:
        left = [weight * keep for weight, keep in zip(weights, kept, strict=True)]
        return [weight / sum(left) for weight in left]

    weights = without([True] * len(weights))
    if sampling.top_k:
        least = sorted(weights, reverse=True)[: sampling.top_k][-1]
        weights = without([weight >= least for weight in weights])
    ranked, above = sorted(range(len(weights)), key=lambda each: -weights[each]), 0.0
    kept = [False] * len(weights)
    for each in ranked:
        kept[each] = above < sampling.top_p
        above += weights[each]
    weights = without(kept)
    return without([weight >= sampling.min_p * max(weights) for weight in weights])


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(),
        Sampling(temperature=0.5),
        Sampling(temperature=2.0, top_p=0.7),
        Sampling(temperature=0.8, top_k=4, top_p=0.9, min_p=0.1),
        Sampling(top_k=3, min_p=0.3),
    ],
)
def test_the_filters_apply_in_order(sampling: Sampling) -> None:
    log_probs = torch.randn(20, 9, generator=torch.Generator().manual_seed(1), dtype=torch.float64).log_softmax(-1)
    found = filtered(log_probs, sampling).exp()
    assert found.sum(-1).tolist() == pytest.approx([1.0] * 20)
    for row, values in zip(found.tolist(), log_probs.tolist(), strict=True):
        assert row == pytest.approx(by_hand(values, sampling), abs=1e-12)


def test_tokens_are_drawn_as_often_as_they_are_probable() -> None:
    """Equidistant numbers in place of random ones: every share is right to a token."""
    count, sampling = 500, Sampling(temperature=1.5, top_k=3)
    scorer = ToyScorer([3])
    numbers = [Numbers((each + 0.5) / count) for each in range(count)]
    samples = sample_search(scorer, 1, options(), sampling, numbers)
    log_probs = scorer.logits_after(3, (BOS,)).log_softmax(-1)
    log_probs[[PAD, BOS]] = -math.inf
    expected = filtered(log_probs, sampling).exp().tolist()
    drawn = Counter(sample.token_ids[0] for sample in samples)
    for token_id, probability in enumerate(expected):
        assert abs(drawn[token_id] - count * probability) <= 1


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.integers(0, 99), st.floats(0.3, 3), share)
def test_samples_keep_the_model_s_own_log_probs(seed: int, drawn: int, temperature: float, mass: float) -> None:
    scorer, sampling = ToyScorer([seed]), Sampling(temperature=temperature, top_p=mass, seed=drawn)
    samples = sampled(scorer, sampling)
    assert len(samples) == 8
    for sample in samples:
        assert sample.token_log_probs == pytest.approx(scorer.log_probs_of(0, sample.token_ids), abs=1e-5)
        assert sample.finished == (sample.token_ids[-1] == EOS)
        assert not {PAD, BOS} & set(sample.token_ids)


def test_the_first_samples_do_not_depend_on_how_many_there_are() -> None:
    few, many = (sampled(ToyScorer([1]), Sampling(num_samples=count)) for count in (3, 12))
    assert [each.token_ids for each in few] == [each.token_ids for each in many[:3]]
    assert [each.token_ids for each in many] == [
        each.token_ids for each in sampled(ToyScorer([1]), Sampling(num_samples=12))
    ]
    other = sampled(ToyScorer([1]), Sampling(num_samples=12, seed=1))
    assert [each.token_ids for each in many] != [each.token_ids for each in other]
    assert len({each.token_ids for each in many}) > 1


def test_the_most_probable_token_alone_is_greedy_search() -> None:
    for sampling in (Sampling(top_k=1), Sampling(top_p=1e-9), Sampling(min_p=1.0)):
        (greedy,) = greedy_search(ToyScorer([7]), [8], options())
        samples = sampled(ToyScorer([7]), sampling)
        assert {sample.token_ids for sample in samples} == {greedy.token_ids}


def test_samples_that_begin_alike_are_computed_once() -> None:
    scorer = ToyScorer([1], eos_bonus=-50)
    samples = sampled(scorer, Sampling(num_samples=12), limit=5, prefix=(3, 4))
    assert {sample.token_ids[:2] for sample in samples} == {(3, 4)}
    assert scorer.widths == [len({sample.token_ids[:length] for sample in samples}) for length in range(5)]


def test_samples_comply_with_constraints() -> None:
    own = Constraints(min_length=4, forbidden=(Forbidden(3), Forbidden(4, 0)))
    sampling = Sampling(num_samples=32)
    numbers = sampling.random_numbers("")
    for sample in sample_search(ToyScorer([2], 2.0), 9, replace(options(), constraints=own), sampling, numbers):
        assert EOS not in sample.token_ids[:4]
        assert 3 not in sample.token_ids
        assert sample.token_ids[0] != 4
    everything = Constraints(forbidden=tuple(Forbidden(each) for each in range(6)))
    with pytest.raises(ValueError, match=r"^every token is forbidden at position 1: allow one$"):
        sample_search(ToyScorer([2]), 9, replace(options(), constraints=everything), sampling, numbers)


def test_logits_that_are_not_finite_are_an_error() -> None:
    with pytest.raises(NonFiniteError, match="not finite"):
        sample_search(lambda *_: torch.full((1, 1, 6), math.nan), 9, options(), Sampling(), [Numbers(0.5)])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"num_samples": 0}, r"^num_samples \(0\) must be an integer from 1 to 64$"),
        ({"top_k": -1}, r"^top_k \(-1\) must be an integer from 0 to 10.15: 0 keeps all tokens$"),
        ({"seed": 1.5}, r"^seed \(1.5\) must be an integer from 0 to 10.15$"),
        ({"temperature": 0}, r"^temperature \(0\) must be a number from 0 to 10, 0 excluded: for .* beam size of 1$"),
        ({"temperature": math.nan}, r"^temperature \(nan\) must be a number from 0"),
        ({"top_p": 0.0}, r"^top_p \(0.0\) must be a number from 0 to 1, 0 excluded: 1 keeps all tokens$"),
        ({"min_p": 1.5}, r"^min_p \(1.5\) must be a number from 0 to 1: 0 keeps all tokens$"),
    ],
)
def test_values_are_checked(values: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Sampling(**values)  # type: ignore[arg-type]
