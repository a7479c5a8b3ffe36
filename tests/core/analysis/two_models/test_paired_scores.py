"""Paired scores of two lists of translations."""

import itertools
import random

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from core.analysis.two_models.paired_scores import PairedTestName, paired_scores

WORDS = ["ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf"]


def texts(seed: int, count: int = 40) -> list[str]:
    """Sentences of words at random."""
    chosen = random.Random(seed)
    return [" ".join(chosen.choices(WORDS, k=12)) for _ in range(count)]


def damaged(references: list[str], every: int) -> list[str]:
    """The references, with every so many-th word of all of them replaced."""
    places = itertools.count(1)
    return [" ".join("falsch" if next(places) % every == 0 else word for word in text.split()) for text in references]


@pytest.mark.parametrize("test", ["bootstrap", "randomization"])
def test_scores_are_those_of_the_whole_set(test: PairedTestName) -> None:
    references = texts(0)
    first, second = damaged(references, 7), damaged(references, 5)
    for found, metric in zip(paired_scores(first, second, references, test, 100), (BLEU(), CHRF()), strict=True):
        for score, interval, translations in (
            (found.first, found.first_interval, first),
            (found.second, found.second_interval, second),
        ):
            assert score == pytest.approx(metric.corpus_score(translations, [references]).score)
            assert 0 < interval < 10
        assert found.first > found.second
        assert found.p_value == pytest.approx(1 / 101)  # no resample turns it round; the test counts itself as one
        assert f"|{'bs' if test == 'bootstrap' else 'ar'}:100|" in found.signature


def test_the_same_translations_do_not_differ() -> None:
    references = texts(0)
    assert {each.p_value for each in paired_scores(references, references, references, samples=50)} == {1.0}


def test_a_difference_by_chance_is_not_significant() -> None:
    references = texts(0)
    sides = [damaged(references, 4), damaged(references, 4)]
    for line, worse in enumerate(damaged(references, 2)):  # each line is worse on one side, in turn
        sides[line % 2][line] = worse
    assert all(each.p_value > 0.05 for each in paired_scores(*sides, references, samples=300))


def test_the_p_value_of_a_bootstrap_is_that_of_a_loop() -> None:
    references = texts(0, 12)
    good, bad = damaged(references, 5), damaged(references, 4)
    sides = [list(good), list(bad)]
    for line in range(0, 12, 3):
        sides[0][line], sides[1][line] = sides[1][line], sides[0][line]
    found = paired_scores(*sides, references, samples=200)[1]
    draws = np.random.default_rng(12345).choice(12, size=(200, 12), replace=True)
    metric = CHRF()

    def difference(lines: list[int]) -> float:
        one, other = (
            metric.corpus_score([side[line] for line in lines], [[references[line] for line in lines]]).score
            for side in sides
        )
        return abs(one - other)

    differences = np.array([difference(draw.tolist()) for draw in draws])
    extreme = (differences - differences.mean() > difference([*range(12)])).sum()
    assert found.p_value == pytest.approx((extreme + 1) / 201)


def test_lists_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="there are 1 and 2 translations of 1 references: expected one translation"):
        paired_scores(["a"], ["a", "b"], ["a"])
    with pytest.raises(ValueError, match="one reference at least"):
        paired_scores([], [], [])
