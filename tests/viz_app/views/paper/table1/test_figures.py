"""The drawings of Table 1, from costs that can be worked out by hand."""

import math
from dataclasses import replace

import pytest

from core.analysis.layers.layer_cost import Cost, grid
from core.analysis.layers.layer_types import LAYER_TYPES, Sizes
from core.analysis.layers.path_length import PathLength
from viz_app.drawing.theme import DARK, LIGHT
from viz_app.views.paper.table1.figures import (
    cost_curves,
    costs_table,
    crossover,
    formula,
    growth_curves,
    matching_costs,
    measured_crossover,
    table_1,
    traces_table,
)

AT = Sizes(n=8, d=16, k=3, r=4)


def cost(layer: str, sizes: Sizes) -> Cost:
    """A microsecond a multiplication, ten for the recurrent layer, and a byte for each."""
    operations = LAYER_TYPES[layer].operations(sizes)
    k, r = (sizes.k if "conv" in layer or layer == "separable" else None), (sizes.r if layer == "restricted" else None)
    return Cost(
        layer, sizes.n, sizes.d, k, r, operations, operations * (1e-5 if layer == "recurrent" else 1e-6), operations
    )


COSTS = [cost(layer, sizes) for layer, sizes in grid([4, 8, 16, 32, 64, 256], [8, 16], [3, 5], [2, 4])]


def test_a_curve_is_made_of_the_sizes_asked_about_alone() -> None:
    for layer in LAYER_TYPES:
        found = matching_costs(COSTS, layer, AT, "n")
        assert [one.n for one in found] == [4, 8, 16, 32, 64, 256]
        assert {(one.d, one.k in (None, 3), one.r in (None, 4)) for one in found} == {(16, True, True)}
        assert [(one.n, one.d) for one in matching_costs(COSTS, layer, AT, "d")] == [(8, 8), (8, 16)]
        assert [(one.n, one.d) for one in matching_costs(COSTS, layer, AT)] == [(8, 16)]


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_what_costs_as_its_formula_says_lies_on_the_dashed_line(theme: object) -> None:
    figure = cost_curves(COSTS, "milliseconds", AT, "n", theme)  # type: ignore[arg-type]
    dashed = [trace for trace in figure.data if trace.line.dash == "dash"]
    marked = [trace for trace in figure.data if trace.mode == "lines+markers"]
    assert [trace.name for trace in marked] == [layer_type.name for layer_type in LAYER_TYPES.values()]
    assert len({trace.line.color for trace in marked}) == len({trace.marker.symbol for trace in marked}) == 5
    for within, measured in zip(dashed, marked, strict=True):
        assert within.y == pytest.approx(measured.y)


def test_the_crossover_is_where_the_curves_of_multiplications_meet() -> None:
    for along, place in (("n", AT.d), ("d", AT.n)):
        figure = cost_curves(COSTS, "operations", AT, along, LIGHT)
        line = next(trace for trace in figure.data if trace.text and "n = d" in trace.text)
        assert line.x == (place, place)
        attention, recurrent = (
            dict(zip(trace.x, trace.y, strict=True))
            for trace in figure.data
            if trace.name in ("Self-attention", "Recurrent")
        )
        assert attention[place] == recurrent[place]


def test_the_measured_crossover_by_hand() -> None:
    """A recurrent layer ten times as slow: 2 n^2 d = 10 * 2 n d^2 where n = 10 d."""
    assert measured_crossover(COSTS, AT, "n") == pytest.approx(160)
    assert measured_crossover(COSTS, replace(AT, n=256), "d") is None
    assert measured_crossover([], AT, "n") is None


def test_the_table_behind_it() -> None:
    table = costs_table(COSTS, AT, "n")
    assert len(table) == 5 * 6
    row = table[(table["layer"] == "Convolutional") & (table["n"] == 8)].iloc[0]
    assert (row["k"], row["within_O"], row["operations"]) == (3, 3 * 8 * 16**2, 3 * 8 * 16**2)
    assert row["milliseconds"] == pytest.approx(6.144)
    assert costs_table([], AT, "n").empty


def test_counts_that_do_not_exist_are_left_out() -> None:
    traces = {("recurrent", n): PathLength(n, 1, n) for n in (2, 4)} | {
        ("convolutional", n): PathLength(1, None, None) for n in (2, 4)
    }
    figure = growth_curves(traces, "path", AT, LIGHT)
    marked = {trace.name: trace.y for trace in figure.data if trace.mode == "lines+markers"}
    assert marked["Recurrent"] == (2, 4)
    assert marked["Convolutional"] == marked["Self-attention"] == ()
    table = traces_table(traces, AT)
    assert table["path"].isna().tolist() == [False, False, True, True]
    assert table["path_within_O"].tolist()[:2] == [2, 4]
    assert table["path_within_O"].tolist()[2:] == pytest.approx([math.log(2, 3), math.log(4, 3)])


def test_everything_can_be_drawn() -> None:
    traces = {("recurrent", n): PathLength(n, 1, n) for n in (2, 4)}
    for figure in (
        cost_curves(COSTS, "megabytes", AT, "d", LIGHT),
        growth_curves(traces, "sequential", AT, LIGHT),
        cost_curves([], "operations", AT, "n", LIGHT),
    ):
        assert figure.to_json()


def test_formulas_as_html() -> None:
    assert formula("O(n^2 d)") == "O(<i>n</i><sup>2</sup> <i>d</i>)"
    assert formula("O(log_k(n))") == "O(log<sub><i>k</i></sub>(<i>n</i>))"
    assert formula("O(n/r)") == "O(<i>n</i>/<i>r</i>)"
    assert formula("O(1)") == "O(1)"


def test_table_1_names_the_fewest_multiplications() -> None:
    html = table_1(COSTS, AT)
    assert html.count("<b>") == 1
    assert f"<b>{2 * 4 * 8 * 16 / 1e3:.3g}\u00a0K</b>" in html  # restricted to 4 positions
    assert "2.05 ms" in html  # self-attention: 2 * 8^2 * 16 microseconds
    assert " ms" not in table_1([], AT)


@pytest.mark.parametrize(
    ("n", "said"),
    [
        (8, "At n = 8 < d = 16, self-attention makes 2 times fewer multiplications than a recurrent layer."),
        (16, "At n = d = 16, self-attention and a recurrent layer make the same number of multiplications."),
        (64, "At n = 64 > d = 16, a recurrent layer makes 4 times fewer multiplications than self-attention."),
    ],
)
def test_the_comparison_in_words(n: int, said: str) -> None:
    assert crossover(replace(AT, n=n)) == said
