"""When scores settle and roles are taken."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.analysis.heads.scorecards import ScoreCard
from core.analysis.over_training.roles import SCORES, development_columns, developments, role, settled_at, taken_at
from core.trace import Head

MIXED = ScoreCard(Head("decoder_self", 0, 1), 9, 0.5, 0.5, 3, 0.2, 0.0, 0.0, 0.0, 0.1, 0.1, 0.1, 0.1)
PREVIOUS = replace(MIXED, previous=0.8)
SPREAD = replace(MIXED, entropy=0.95)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.floats(0, 1))
def test_a_score_has_settled_where_a_loop_says(values: list[float], tolerance: float) -> None:
    near = [abs(value - values[-1]) <= tolerance for value in values]
    expected = min(start for start in range(len(values)) if all(near[start:]))
    assert settled_at(values, tolerance) == expected


def test_a_value_that_is_not_known_has_not_settled() -> None:
    assert settled_at([0.5, math.nan, 0.5]) == 2
    assert settled_at([0.5, math.nan]) is None


def test_a_role_is_taken_when_its_criterion_is_met_for_good() -> None:
    assert (role(MIXED), role(PREVIOUS), role(SPREAD)) == (None, "previous word", "spread out")
    both = replace(PREVIOUS, confidence=0.9)  # "one word at a time" is among its labels, not the first
    assert taken_at([SPREAD, PREVIOUS, MIXED, PREVIOUS, both]) == 3
    assert taken_at([MIXED, both, replace(MIXED, confidence=0.9)]) == 1
    assert taken_at([PREVIOUS, MIXED]) is None
    assert taken_at([PREVIOUS]) == 0


def test_a_head_that_is_spread_out_has_no_other_role() -> None:
    assert role(replace(SPREAD, previous=0.8)) == "spread out"
    assert taken_at([replace(SPREAD, previous=0.8), PREVIOUS]) == 1


def test_developments_follow_every_head() -> None:
    other = replace(SPREAD, head=Head("decoder_self", 0, 2))
    found = developments([[MIXED, other], [PREVIOUS, other], [PREVIOUS, other]], "previous")
    assert [each.head.head for each in found] == [1, 2]
    assert (found[0].values, found[0].settled, found[0].taken) == ((0.1, 0.8, 0.8), 1, 1)
    assert found[0].roles == (None, "previous word", "previous word")
    cards = [[card, replace(card, head=Head("cross", 0, 1))] for card in (MIXED, PREVIOUS)]
    assert [each.head.kind for each in developments(cards, "previous", kind="cross")] == ["cross"]
    columns = development_columns([0, 10, 20], found)
    assert columns["step"] == [0, 10, 20] * 2
    assert columns["settled"] == [False, True, True, True, True, True]
    assert {len(column) for column in columns.values()} == {6}


def test_every_score_is_one_of_the_cards() -> None:
    for name, value in SCORES.items():
        assert value(MIXED) == pytest.approx(getattr(MIXED, name), nan_ok=True)


def test_what_cannot_be_followed_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^score \('height'\) must be one of confidence, "):
        developments([[MIXED]], "height")
    with pytest.raises(ValueError, match=r"^there are no snapshots"):
        developments([], "entropy")
