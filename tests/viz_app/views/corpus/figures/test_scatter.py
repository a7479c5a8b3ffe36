"""All heads by two measures."""

import math
from typing import Any

from core.analysis.corpus.behaviours import BEHAVIOURS
from core.analysis.corpus.head_scores import DISTANCE, PAIR, head_points, points_table
from core.analysis.corpus.index import CorpusIndex
from core.analysis.heads.head import Head
from viz_app.drawing.theme import LIGHT
from viz_app.views.corpus.figures.scatter import MEASURE_NAMES, marker_head, scatter_figure


def test_every_head_with_both_measures_has_a_mark(index: CorpusIndex) -> None:
    points = head_points(index, "one", DISTANCE)
    expected = [(card.head, BEHAVIOURS["one"].score(card), card.distance) for card in index.cards]
    assert points == [each for each in expected if not math.isnan(each[2])]
    assert len(points) > 20
    assert {head.kind for head, _, _ in head_points(index, "translates", "one")} == {"cross"}
    assert not head_points(index, "gold", "one")  # not measured
    assert {head.layer for head, _, _ in head_points(index, "one", "spread", ["cross"], 1)} == {1}
    for x in MEASURE_NAMES:
        assert points_table(head_points(index, x, "one"))["kind"] == [
            head.kind for head, _, _ in head_points(index, x, "one")
        ]


def test_the_weight_between_two_words_is_a_measure_of_the_heads_that_link_them(index: CorpusIndex) -> None:
    heads = {Head("cross", 0, 1): 0.25, Head("cross", 1, 0): 0.75}
    points = head_points(index, PAIR, "one", pair=heads)
    assert {head: across for head, across, _ in points} == heads
    assert not head_points(index, PAIR, "one")


def test_a_mark_leads_to_its_head(index: CorpusIndex) -> None:
    points = head_points(index, "one", "spread")
    figure = scatter_figure(points, "one", "spread", LIGHT, points[-1][0])
    for trace, marks in enumerate(figure.data):
        for number, (across, up) in enumerate(zip(marks.x, marks.y, strict=True)):
            head = marker_head(points, {"curve_number": trace, "point_index": number})
            assert (head, across, up) in points
    assert [list(marks.marker.size).count(15) for marks in figure.data] == [0, 0, 1]
    assert len({marks.marker.symbol for marks in figure.data}) == 3
    wrong: list[dict[str, Any]] = [{"curve_number": 3, "point_index": 0}, {"curve_number": 0, "point_index": 99}, {}]
    assert not any(marker_head(points, point) for point in wrong)
    only_cross = head_points(index, "translates", "one")
    assert marker_head(only_cross, {"curve_number": 0, "point_index": 0}) == only_cross[0][0]
