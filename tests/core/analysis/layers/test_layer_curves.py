"""The curves of Table 1, from costs that can be worked out by hand."""

import math
from dataclasses import replace

import pytest

from core.analysis.declaration import FIRST
from core.analysis.layers.layer_cost import Cost, CostTable, grid
from core.analysis.layers.layer_curves import Along
from core.analysis.layers.layer_types import LAYER_TYPES, Sizes, compared_multiplications
from core.analysis.layers.path_length import PathCounts, PathLength
from core.analysis.pictures import Curve, Curves

AT = Sizes(n=8, d=16, k=3, r=4)


def cost(layer: str, sizes: Sizes) -> Cost:
    """A microsecond a multiplication, ten for the recurrent layer, and a byte for each."""
    operations = LAYER_TYPES[layer].operations(sizes)
    k, r = (sizes.k if "conv" in layer or layer == "separable" else None), (sizes.r if layer == "restricted" else None)
    seconds = operations * (1e-5 if layer == "recurrent" else 1e-6)
    return Cost(layer, sizes.n, sizes.d, k, r, operations, seconds, operations)


COSTS = CostTable("a machine", tuple(cost(*each) for each in grid([4, 8, 16, 32, 64, 256], [8, 16], [3, 5], [2, 4])))
NONE = CostTable("a machine", ())


def named(curves: Curves) -> dict[str, Curve]:
    return {curve.name: curve for curve in curves.curves if curve.name}


def test_a_curve_is_made_of_the_sizes_asked_about_alone() -> None:
    for layer in LAYER_TYPES:
        found = COSTS.matching(layer, AT, "n")
        assert [one.n for one in found] == [4, 8, 16, 32, 64, 256]
        assert {(one.d, one.k in (None, 3), one.r in (None, 4)) for one in found} == {(16, True, True)}
        assert [(one.n, one.d) for one in COSTS.matching(layer, AT, "d")] == [(8, 8), (8, 16)]
        assert [(one.n, one.d) for one in COSTS.matching(layer, AT)] == [(8, 16)]


def test_what_costs_as_its_formula_says_lies_on_the_dashed_line() -> None:
    found = COSTS.curves("milliseconds", AT, "n")
    dashed = [curve for curve in found.curves if curve.dash == "dash"]
    measured = [curve for curve in found.curves if curve.shape == "both"]
    assert [curve.name for curve in measured] == [layer_type.name for layer_type in LAYER_TYPES.values()]
    for within, curve in zip(dashed, measured, strict=True):
        assert (within.values, within.color) == (pytest.approx(curve.values), curve.color)
    assert not NONE.curves("milliseconds", AT, "n").names


def test_the_crossover_is_where_the_curves_of_multiplications_meet() -> None:
    meetings: dict[Along, int] = {"n": AT.d, "d": AT.n}
    for along, place in meetings.items():
        curves = named(COSTS.curves("operations", AT, along))
        assert curves["n = d"].places == [math.log2(place)] * 2
        attention, recurrent = (
            dict(zip(curves[name].places, curves[name].values, strict=True)) for name in ("Self-attention", "Recurrent")
        )
        assert attention[math.log2(place)] == recurrent[math.log2(place)]


def test_the_measured_crossover_by_hand() -> None:
    """A recurrent layer ten times as slow: 2 n^2 d = 10 * 2 n d^2 where n = 10 d."""
    assert COSTS.meeting(AT, "n") == pytest.approx(160)
    assert COSTS.meeting(replace(AT, n=256), "d") is None
    assert NONE.meeting(AT, "n") is None


def test_the_table_behind_it() -> None:
    table = COSTS.points(AT, "n")
    rows = list(zip(*table.values(), strict=True))
    assert len(rows) == 5 * 6
    [row] = [dict(zip(table, row, strict=True)) for row in rows if row[:2] == ("Convolutional", 8)]
    assert (row["k"], row["within_O"], row["operations"]) == (3, 3 * 8 * 16**2, 3 * 8 * 16**2)
    assert row["milliseconds"] == pytest.approx(6.144)
    assert not NONE.points(AT, "n")["layer"]


def test_counts_that_do_not_exist_are_left_out() -> None:
    counts = {("recurrent", n): PathLength(n, 1, n) for n in (2, 4)} | {
        ("convolutional", n): PathLength(1, None, None) for n in (2, 4)
    }
    found = PathCounts(counts, AT)
    curves = named(found.curves("path"))
    assert curves["Recurrent"].values == [2, 4]
    assert curves["Convolutional"].values == curves["Self-attention"].values == []
    table = found.table()
    assert table["path"] == [2, 4, None, None]
    assert table["path_within_O"] == pytest.approx([2, 4, math.log(2, 3), math.log(4, 3)])


@pytest.mark.parametrize(
    ("n", "said"),
    [
        (8, "At n = 8 < d = 16, self-attention makes 2 times fewer multiplications than a recurrent layer."),
        (16, "At n = d = 16, self-attention and a recurrent layer make the same number of multiplications."),
        (64, "At n = 64 > d = 16, a recurrent layer makes 4 times fewer multiplications than self-attention."),
    ],
)
def test_the_comparison_in_words(n: int, said: str) -> None:
    assert compared_multiplications(replace(AT, n=n)) == said
    assert COSTS.answer(FIRST).startswith("At n = 256 > d = 16")
