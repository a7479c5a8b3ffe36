import json
import math
from typing import Any

import pytest

from core.analysis.corpus.behaviours import BEHAVIOURS
from core.analysis.corpus.head_scores import DISTANCE, PAIR, head_points, points_table, within
from core.analysis.corpus.index import CorpusIndex, IndexedSentence
from core.analysis.corpus.shown_examples import MarkedText, ShownExample, examples_table, sides
from core.analysis.heads.head import Head
from core.translator import Translator
from viz_app.drawing.theme import LIGHT
from viz_app.views.corpus.corpus_examples import examples_payload
from viz_app.views.corpus.figures.corpus import MEASURE_NAMES, marker_head, scatter_figure
from viz_app.views.corpus.parallel_coordinates import sent_range

DRAWING = {
    "axes": [
        {"key": key, "name": f"{key} $x$", "text": "about", "low": 0, "high": high, "range": ends}
        for key, high, ends in (("a", 1, None), ("b", 4, (2.0, 4.0)))
    ],
    "lines": [
        {"name": "one", "values": [0.2, 3.0], "group": 0, "faint": False},
        {"name": "<two>", "values": [0.9, 1.0], "group": 1, "faint": True},
        {"name": "gap", "values": [0.5, None], "group": 0, "faint": True},
    ],
    "groups": [
        {"name": "Encoder", "color": "#0072b2", "dash": "solid"},
        {"name": "Cross", "color": "#d55e00", "dash": "dot"},
    ],
    "marked": 0,
    "name": "",
}
TOKENS = ("▁A", "▁", "1", "2", "▁wo", "rd", ".", "</s>")
EXAMPLE = ShownExample(
    texts=[
        MarkedText(tokens=TOKENS, marks=["", "", "", "key", "", "", "", ""]),
        MarkedText(tokens=("<s>", "▁Ein", "▁<b>", "</s>"), marks=["query", "", "", ""]),
    ],
    value=2.5,
    line=3,
    query="<s>",
    key="2",
    predicted="▁Ein",
)


def test_a_gap_is_within_no_range_and_a_range_of_another_axis_limits_nothing() -> None:
    ranges = {"b": (2.0, 4.0)}
    assert within({"a": 0.2, "b": 3.0}, ranges)
    assert within({"a": 0.9}, ranges)
    assert not any(within({"b": value}, ranges) for value in (1.0, None))


def test_a_range_from_the_browser_is_checked() -> None:
    assert sent_range({"axis": "b", "low": 1, "high": 2.5}, DRAWING["axes"]) == ("b", (1.0, 2.5))
    assert sent_range({"axis": "b", "low": -1, "high": 9}, DRAWING["axes"]) == ("b", None)  # the whole axis
    for value in (
        None,
        {"axis": "c", "low": 0, "high": 1},
        {"axis": "b", "low": 2, "high": 1},
        {"axis": "b", "low": float("nan"), "high": 1},
        {"axis": "b", "low": "0", "high": 1},
        {"axis": "b", "low": 5, "high": 6},
    ):
        assert sent_range(value, DRAWING["axes"]) is None


def test_special_tokens_and_lone_spaces_are_written_only_where_they_are_marked() -> None:
    first, second = EXAMPLE.texts
    assert first.written() == [
        ("▁A", False, "", 0),
        ("1", True, "", 2),
        ("2", False, "key", 3),
        ("▁wo", True, "", 4),
        ("rd", False, "", 5),
        (".", False, "", 6),
    ]
    assert second.written() == [("<s>", False, "query", 0), ("▁Ein", True, "", 1), ("▁<b>", True, "", 2)]
    payload = json.loads(json.dumps(examples_payload([EXAMPLE], "Open")))
    (shown,) = payload["examples"]
    assert [token["mark"] for token in shown["texts"][0]["tokens"]] == ["", "", "key", "", "", ""]
    assert (shown["value"], shown["share"], shown["note"]) == ("2.50", 1, "predicts Ein")


def test_the_table_of_examples() -> None:
    table = examples_table([EXAMPLE], "strength")
    assert [table[name] for name in ("strength", "line", "from", "token")] == [[2.5], [3], ["<s>"], ["2"]]
    assert table["text"] == ["▁A▁12▁word.</s> / <s>▁Ein▁<b></s>"]


def test_a_sentence_with_other_tokens_is_refused(translator: Translator) -> None:
    with pytest.raises(ValueError, match=r"the sentence of line 4 has \d+ tokens, the index 99: it belongs to another"):
        sides(translator, IndexedSentence(4, "A dog.", 99, (5,)))


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
