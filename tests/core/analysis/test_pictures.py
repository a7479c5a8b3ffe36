"""Data of pictures for the browser, clicks that it sends, and the scale of signed effects."""

import json
from typing import Any

import pytest

from core.analysis import pictures
from core.analysis.pictures_data import clicked_place, head_at, picture_data
from core.trace import Head

HEAD = Head("cross", 0, 1)
GRID = pictures.Grid(
    title="grid",
    legend="nats",
    ends=pictures.effect_ends(2.0),
    scale="diverging",
    columns=["A", "B"],
    rows=[("L1", [*pictures.effect_cells([-2.0], 2.0, [HEAD]), None]), ("L2", pictures.effect_cells([0.01], 2.0))],
)
BARS = pictures.Bars(
    title="bars",
    axis="nats",
    columns=["in", "L1"],
    series=[pictures.Series(name="x", color=1, values=[1.0, -2.0], heads=[None, HEAD])],
)


def test_the_data_of_a_grid() -> None:
    data = json.loads(json.dumps(picture_data(GRID, selected=HEAD)))
    first, gap = data["rows"][0]["cells"]
    assert (first["text"], first["name"], first["shade"], first["marked"]) == ("-2.0", "L1, A: -2.000", -1.0, True)
    assert gap is None
    other = data["rows"][1]["cells"][0]
    assert (other["text"], other["name"], other["marked"]) == ("", "L2, A: +0.010", False)
    assert picture_data(GRID, selected={(1, 0)})["rows"][1]["cells"][0]["marked"]
    assert data["legend"] == {"title": "nats", "low": "-2.0", "high": "+2.0"}


def test_the_data_of_bars() -> None:
    data = picture_data(BARS)
    assert data["about"] == "x: lowest -2 at L1, highest 1 at in."
    (series,) = data["series"]
    assert [(bar["name"], bar["isButton"]) for bar in series["bars"]] == [
        ("x, in: +1.000", False),
        ("x, L1: -2.000", True),
    ]


def test_the_data_of_curves() -> None:
    curve = pictures.Curve(name="loss", places=[0, 1, 2], values=[4.0, float("inf"), 2.0], color=0)
    named = pictures.Curves(title="t", axis="nats", below="step", names=[(0, "first"), (2, "last")], curves=[curve])
    data = json.loads(json.dumps(picture_data(named)))
    assert data["curves"][0]["points"] == [[0.0, 4.0], None, [2.0, 2.0]]
    assert data["about"] == "nats; step. loss: 4 at first, 2 at last; lowest 2 at last, highest 4 at first."


def test_a_click_names_a_mark() -> None:
    assert clicked_place(GRID, {"row": 1, "column": 0}) == (1, 0)
    assert head_at(GRID, (1, 0)) is None
    assert head_at(GRID, (0, 0)) == head_at(BARS, (0, 1)) == HEAD


@pytest.mark.parametrize("picture", [GRID, BARS])
def test_what_is_no_mark_is_nothing(picture: Any) -> None:
    places = [{"row": row, "column": column} for row, column in ((2, 0), (1, 1), (1, 2), (-1, 0), ("0", 0))]
    assert [clicked_place(picture, value) for value in (None, "mark", {"row": 0}, *places)] == [None] * 8
    assert clicked_place(BARS, {"row": 0, "column": 0}) is None


def test_the_scale_ends_at_the_largest_effect_but_noise_stays_pale() -> None:
    assert pictures.effect_limit([0.5, -2.0]) == 2.0
    assert pictures.effect_limit([0.001]) == pictures.LEAST_LIMIT
    assert pictures.effect_limit([]) == pictures.LEAST_LIMIT


def test_the_scale_is_odd_and_rising_and_ends_at_its_limit() -> None:
    values = [-30.0, -20.4, -1.0, -0.05, 0.0, 0.05, 1.0, 20.4, 30.0]
    shares = [pictures.effect_share(value, 20.4) for value in values]
    assert shares == sorted(shares)
    assert shares == pytest.approx([-share for share in reversed(shares)])
    assert (shares[1], shares[4], shares[0]) == (-1.0, 0.0, -1.0)
