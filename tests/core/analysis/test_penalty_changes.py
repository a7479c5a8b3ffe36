"""Penalties at which the order of hypotheses changes, beside scores of the search."""

from pathlib import Path

import pytest

from core.analysis.penalty_changes import crossing, first_at, order_changes
from core.decoding.states import SearchOptions
from core.model.config import PenaltyFormula
from core.results import ScoredText
from core.translator import Translator


def hypothesis(log_prob: float, length: int) -> ScoredText:
    return ScoredText("", tuple(range(length)), ("a",) * length, (log_prob / length,) * length, 0.0)


@pytest.mark.parametrize("formula", ["paper", "length"])
def test_at_the_crossing_both_have_the_same_score(formula: PenaltyFormula) -> None:
    short, long = hypothesis(-6.0, 8), hypothesis(-7.5, 13)
    alpha = crossing(short, long, formula)
    assert alpha is not None
    options = SearchOptions(bos_id=0, eos_id=1, never=(), length_penalty=alpha, penalty_formula=formula)
    assert options.score(short.log_prob, 8) == pytest.approx(options.score(long.log_prob, 13), rel=1e-12)
    assert first_at([short, long], alpha - 1e-6, formula) == 0
    assert first_at([short, long], alpha + 1e-6, formula) == 1
    (change,), (reverse,) = order_changes([short, long], formula), order_changes([long, short], formula)
    assert (change.before, change.after, reverse.before, reverse.after) == (0, 1, 1, 0)
    assert [change.alpha, reverse.alpha] == pytest.approx([alpha, alpha])


def test_a_hypothesis_that_is_never_better_changes_nothing() -> None:
    assert crossing(hypothesis(-6, 8), hypothesis(-7, 8)) is None  # as long
    assert crossing(hypothesis(-6, 8), hypothesis(-7, 7)) is None  # shorter and less probable
    assert crossing(hypothesis(0, 8), hypothesis(-7, 9)) is None  # certain
    assert order_changes([hypothesis(-6, 8), hypothesis(-7, 8), hypothesis(-7, 7)]) == []
    assert order_changes([]) == order_changes([hypothesis(-1, 3)]) == []


def test_of_several_only_changes_of_the_first_are_listed() -> None:
    texts = [hypothesis(-4.0, 6), hypothesis(-4.5, 9), hypothesis(-9.0, 14), hypothesis(-5.0, 20)]
    changes = order_changes(texts)
    assert [(each.before, each.after) for each in changes] == [(0, 3)]
    grid = [first_at(texts, step / 1000) for step in range(5001)]
    switches = [step / 1000 for step in range(1, 5001) if grid[step] != grid[step - 1]]
    assert switches == pytest.approx([each.alpha for each in changes], abs=1e-3)
    assert order_changes(texts, most=changes[0].alpha - 0.01) == []


def test_the_penalty_of_a_search_ranks_its_own_best_first(tiny_checkpoint: Path) -> None:
    translator = Translator.from_checkpoint(tiny_checkpoint)
    for alpha in (0.0, 0.6, 2.0):
        hypotheses = translator.translate("A dog runs over the bridge.", 4, alpha, 4).hypotheses
        assert first_at(hypotheses, alpha) == 0
        scores = [each.log_prob / ((5 + len(each.token_ids)) / 6) ** alpha for each in hypotheses]
        assert scores == pytest.approx([each.score for each in hypotheses], abs=1e-5)
