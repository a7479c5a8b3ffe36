"""When scores settle and roles are taken."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.analysis.heads.scorecards import ScoreCard
from core.analysis.over_training.roles import Developments, developments, role, settled_at, taken_at
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
    assert (role(MIXED), role(PREVIOUS), role(SPREAD)) == (None, "previous token", "spread out")
    both = replace(PREVIOUS, confidence=0.9)  # "one token at a time" is among its labels, not the first
    assert taken_at([SPREAD, PREVIOUS, MIXED, PREVIOUS, both]) == 3
    assert taken_at([MIXED, both, replace(MIXED, confidence=0.9)]) == 1
    assert taken_at([PREVIOUS, MIXED]) is None
    assert taken_at([PREVIOUS]) == 0


def test_a_head_that_is_spread_out_has_no_other_role() -> None:
    assert role(replace(SPREAD, previous=0.8)) == "spread out"
    assert taken_at([replace(SPREAD, previous=0.8), PREVIOUS]) == 1


def test_developments_follow_every_head() -> None:
    other = replace(SPREAD, head=Head("decoder_self", 0, 2))
    followed = developments([0, 10, 20], [[MIXED, other], [PREVIOUS, other], [PREVIOUS, other]], "previous")
    found = followed.heads
    assert [each.head.head for each in found] == [1, 2]
    assert (found[0].values, found[0].settled, found[0].taken) == ((0.1, 0.8, 0.8), 1, 1)
    assert found[0].roles == (None, "previous token", "previous token")
    columns = followed.table()
    assert columns["step"] == [0, 10, 20] * 2
    assert columns["settled"] == [False, True, True, True, True, True]
    assert {len(column) for column in columns.values()} == {6}
    cards = [[card, replace(card, head=Head("cross", 0, 1))] for card in (MIXED, PREVIOUS)]
    assert [each.head.kind for each in developments([0, 1], cards, "previous", kind="cross").heads] == ["cross"]


def test_what_cannot_be_followed_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^score \('height'\) must be one of confidence, "):
        developments([0], [[MIXED]], "height")
    with pytest.raises(ValueError, match=r"^there are no snapshots"):
        developments([], [], "entropy")


@pytest.fixture
def found() -> Developments:
    """A head that takes a role at step 100, and one without."""
    first = replace(SPREAD, head=Head("decoder_self", 0, 0), confidence=0.1)
    later, other = replace(first, entropy=0.3, previous=0.8, confidence=0.7), replace(MIXED, confidence=0.1)
    return developments((0, 100, 1300), [[first, other], [later, other], [later, other]], "confidence")


def test_curves_show_every_head_and_where_one_settles(found: Developments) -> None:
    first, other = found.heads
    drawn = found.curves(first.head, 1300)
    faint, strong, ring = drawn.curves
    assert (faint.values, strong.values) == (other.values, first.values)  # the selected one on top
    assert (ring.places, ring.values, ring.shape) == ([1], [0.7], "ring")
    assert (drawn.current, [name for _, name in drawn.names]) == (2, ["0", "100", "1,300"])
    assert not found.curves(Head("cross", 0, 0)).rules


def test_a_role_is_bold_from_where_it_stays(found: Developments) -> None:
    (name, cells), (other, mixed) = found.roles().rows
    assert (name, other) == ("L1 H1", "L1 H2")
    shown = [cell for cell in cells if cell]
    assert [cell.text for cell in shown] == ["spread", "before", "before"]
    assert [cell.is_strong for cell in shown] == [False, True, True]
    assert shown[0].says == "spread out; largest weight 0.100"
    assert [cell.text for cell in mixed if cell] == [""] * 3


def test_a_score_without_value_is_said_to_have_none(found: Developments) -> None:
    nothing = replace(found, heads=tuple(each._replace(values=(math.nan,) * 3, settled=None) for each in found.heads))
    [cell, *_] = nothing.roles().rows[0][1]
    assert cell is not None
    assert cell.says.endswith("no value")
    assert len(nothing.curves(nothing.heads[0].head).curves) == 2


def test_texts_say_when_roles_are_taken(found: Developments) -> None:
    first, other = found.heads
    assert found.answer(first.head) == "1 of 2 heads have a role in the end, all of them by step 100."
    nothing = replace(found, heads=(other, other))
    assert nothing.answer(first.head) == "None of these 2 heads meets a criterion in the end."
    several = replace(found, heads=(first, first._replace(taken=2), first._replace(taken=0)))
    assert several.answer(first.head).endswith("half of these by step 100, all by step 1,300.")
    assert found.says(first) == (
        "its score settles after step 0, by step 100; its role, previous token, is taken after step 0, by step 100"
    )
    assert found.says(other) == "its score settles from the first snapshot on; it has no role in the end"
