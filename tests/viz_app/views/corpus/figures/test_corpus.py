import json

import pytest

from core.analysis.corpus.head_scores import within
from core.analysis.corpus.index import IndexedSentence
from core.analysis.corpus.shown_examples import MarkedText, ShownExample, examples_table, sides
from core.translator import Translator
from viz_app.views.corpus.corpus_examples import examples_payload
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
