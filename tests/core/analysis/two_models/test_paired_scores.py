"""Paired scores of two lists of translations."""

import itertools
import random

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest

from core.analysis.two_models.paired_scores import SHORT_NAMES, PairedTestName, paired_scores

WORDS = ["ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf"]


def texts(seed: int, count: int = 40) -> list[str]:
    """Sentences of words at random."""
    chosen = random.Random(seed)
    return [" ".join(chosen.choices(WORDS, k=12)) for _ in range(count)]


def damaged(references: list[str], every: int) -> list[str]:
    """The references, with every so many-th word of all of them replaced."""
    places = itertools.count(1)
    return [" ".join("falsch" if next(places) % every == 0 else word for word in text.split()) for text in references]


def mixed(references: list[str]) -> tuple[list[str], list[str]]:
    """Two sides of different quality, each better on some sentences."""
    good, bad = damaged(references, 5), damaged(references, 4)
    for line in range(0, len(references), 3):
        good[line], bad[line] = bad[line], good[line]
    return good, bad


@pytest.mark.parametrize("test", ["bootstrap", "randomization"])
def test_scores_that_differ_are_tested_as_by_sacrebleu(test: PairedTestName) -> None:
    references = texts(0)
    sides = mixed(references)
    signatures, expected = PairedTest(
        [("first", sides[0]), ("second", sides[1])],
        {"BLEU": BLEU(), "chrF": CHRF()},
        [references],
        SHORT_NAMES[test],
        200,
        -1 if test == "bootstrap" else 1000,
    )()
    for found in paired_scores(*sides, references, test, 200):
        one, other = expected[found.metric]
        assert (found.first, found.second) == pytest.approx((one.score, other.score))
        assert found.first_interval == pytest.approx(one.ci, abs=1e-4)  # in single precision there
        assert found.p_value == other.p_value
        assert found.signature == str(signatures[found.metric])


@pytest.mark.parametrize("test", ["bootstrap", "randomization"])
def test_scores_that_are_equal_do_not_differ(test: PairedTestName) -> None:
    references = texts(0)
    side = [text.replace("falsch", "qqqqqq") for text in damaged(references, 4)]
    for other in (side, [f"{text} " for text in side], [text.replace("q", "x") for text in side]):
        assert {each.p_value for each in paired_scores(side, other, references, test, 50)} == {1.0}
    wrong = damaged(references, 3)  # each sentence differs, and the whole does not
    for each in paired_scores(wrong + references, references + wrong, references * 2, test, 50):
        assert (each.first, each.p_value) == (each.second, 1.0)


def test_the_p_value_of_a_randomization_is_the_share_of_all_swaps() -> None:
    references = texts(0, 8)
    sides, metric = mixed(references), CHRF()

    def difference(swapped: tuple[int, ...]) -> float:
        one, other = ([sides[side ^ swap][line] for line, swap in enumerate(swapped)] for side in (0, 1))
        return abs(metric.corpus_score(one, [references]).score - metric.corpus_score(other, [references]).score)

    differences = [difference(swapped) for swapped in itertools.product((0, 1), repeat=8)]
    share = np.mean([each >= differences[0] - 1e-9 for each in differences])
    found = paired_scores(*sides, references, "randomization")[1]
    assert found.p_value == pytest.approx(share, abs=5 * 0.5 / 100)  # 5 standard errors of 10,000 trials


def test_a_difference_by_chance_is_not_significant() -> None:
    references = texts(0)
    sides = [damaged(references, 4), damaged(references, 4)]
    for line, worse in enumerate(damaged(references, 2)):  # each line is worse on one side, in turn
        sides[line % 2][line] = worse
    assert all(each.p_value > 0.05 for each in paired_scores(*sides, references, samples=300))


def test_the_p_value_of_a_bootstrap_is_that_of_a_loop() -> None:
    references = texts(0, 12)
    sides = mixed(references)
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
    extreme = (differences - differences.mean() >= difference([*range(12)])).sum()
    assert found.p_value == pytest.approx((extreme + 1) / 201)


def test_lists_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="there are 1 and 2 translations of 1 references: expected one translation"):
        paired_scores(["a"], ["a", "b"], ["a"])
    with pytest.raises(ValueError, match="one reference at least"):
        paired_scores([], [], [])
