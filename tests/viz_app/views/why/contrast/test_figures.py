"""Scores as bars, rank correlations, deletion curves and tables."""

from typing import Any, cast

import pytest
import torch

from core.analysis.attribution.contrast import Contrast
from core.analysis.attribution.contrast_methods import ContrastAttribution
from core.analysis.attribution.faithfulness import RANDOM, SHARES, Faithfulness, Ranking, rank_methods
from core.analysis.attribution.paired_differences import PairedDifference
from viz_app.drawing.theme import LIGHT
from viz_app.views.why.contrast.figures import (
    bars_grid,
    correlation_grid,
    correlations_table,
    curves_figure,
    curves_table,
    methods_table,
    ranking_table,
    scores_table,
    token_rows,
    verdict,
)

CURVES = {"occlusion": (0.9, 0.5, 0.4, 0.3, 0.2, 0.1), "alti": (0.9,) * 6, RANDOM: (0.9, 0.8, 0.7, 0.6, 0.5, 0.4)}


@pytest.fixture
def found() -> ContrastAttribution:
    source, prefix = ("\u2581A", "\u2581do", "g", "</s>"), ("<s>", "\u2581Ein")
    contrast = Contrast(cast("Any", None), 1, (5, 6, 7, 2), (1, 8), 9, 10, source, prefix)
    scores = torch.tensor([0.5, -2.0, 1.0, 0.25, 0.0, 4.0])
    return ContrastAttribution(contrast, 3.0, 0.0, 17, {"occlusion": scores, "alti": scores.abs() / 8})


def test_words_are_sums_of_their_tokens(found: ContrastAttribution) -> None:
    rows = token_rows(found, words=True, hide_special=True)
    assert [(row.side, row.name) for row in rows] == [("source", "A"), ("source", "dog"), ("prefix", "Ein")]
    table = scores_table(found, rows)
    assert table["occlusion"].tolist() == [0.5, -1.0, 4.0]
    assert table["position"].tolist() == [0, 1, 1]
    pieces = scores_table(found, token_rows(found, words=False, hide_special=False))
    assert pieces["token"].tolist() == ["A", "do", "\u00b7g", "</s>", "<s>", "Ein"]
    assert pieces["occlusion"].sum() == pytest.approx(found.scores["occlusion"].sum())


def test_bars_start_in_the_middle_if_a_method_has_signs(found: ContrastAttribution) -> None:
    grid = bars_grid(found, ["occlusion", "alti"], token_rows(found, True, True))
    assert [name for name, _ in grid.rows] == ["SOURCE", "A", "dog", "PREFIX", "Ein"]
    bars = [[cell.bar for cell in cells if cell] for _, cells in grid.rows if cells]
    assert [first for first, _ in bars] == [(0.5, 0.5625), (0.375, 0.5), (0.5, 1.0)]
    assert [second for _, second in bars] == [(0.0, 0.125), (0.0, 0.75), (0.0, 1.0)]
    against, favour = (grid.rows[row][1][0].shade for row in (2, 1))  # type: ignore[union-attr]
    assert -against == favour > 0
    assert grid.groups == [("A rather than B, in nats", 1), ("Shares of the row", 1)]


def test_correlations_are_those_of_the_ordinary_tokens(found: ContrastAttribution) -> None:
    """Over A, do, g and Ein, shares are the absolute values of the other scores: their order is the same."""
    grid = correlation_grid(found, ["occlusion", "alti"])
    assert [[cell and cell.text for cell in cells] for _, cells in grid.rows] == [[None, "1.00"], ["1.00", None]]
    assert correlations_table(found)["alti"].tolist() == pytest.approx([1.0, 1.0])


def test_curves_begin_with_the_whole_sentence() -> None:
    figure = curves_figure(CURVES, ["occlusion", "alti"], "p(A)", LIGHT)
    assert [trace.name for trace in figure.data] == ["Occlusion", "ALTI", "Random order"]
    assert list(figure.data[0].x) == [0, 10, 20, 30, 40, 50]


def test_tables(found: ContrastAttribution) -> None:
    table = methods_table(found, CURVES)
    assert table["aopc"].tolist() == pytest.approx([0.5, 0, 0.25])
    assert table["sum"].tolist()[0] == pytest.approx(3.75)
    assert table["gap"].tolist()[0] == pytest.approx(3.75 - 3.0)
    assert table["gap"].isna().tolist() == [False, True, True]
    assert curves_table(CURVES)["deleted"].tolist() == [0, *SHARES]
    ranked = rank_methods([CURVES, CURVES])
    table = ranking_table(ranked)
    assert table["method"].tolist() == ["Occlusion", "Random order", "ALTI"]
    assert table["above_random"].tolist()[::2] == pytest.approx([0.25, -0.25])
    assert table["p_value"].isna().tolist() == [False, True, False]


def ranking(*methods: tuple[str, bool, bool]) -> Ranking:
    above = PairedDifference(0.1, 0.05, 0.15, 0.01)
    found = [Faithfulness(method, 0.5, 0.1, above, beats, is_best) for method, is_best, beats in methods]
    return Ranking(tuple(found), (methods[0][0], "alti"), 0.4567, 9)


def test_the_verdict_names_what_to_trust_and_what_not() -> None:
    one = ranking(("occlusion", True, True), ("alti", False, True), ("rollout", False, False), (RANDOM, False, False))
    assert verdict(one, 9) == (
        "**Trust Occlusion**: over 9 predictions, the probability falls most without the tokens that rank highest "
        "there. The best on one half of the predictions (Occlusion and ALTI) has an AOPC of 0.457 on the other "
        "half. Not shown to be better than a random order: Rollout."
    )
    two = ranking(("occlusion", True, True), ("alti", True, True), (RANDOM, False, False))
    assert verdict(two, 9).startswith("**Trust Occlusion and ALTI**, which these sentences cannot tell apart: ")
    none = ranking(("occlusion", True, False), (RANDOM, False, False))
    assert verdict(none, 1) == "Over 1 predictions, no method can be told apart from a random order."
