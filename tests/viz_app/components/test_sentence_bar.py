import math

import pytest

from core.translator import Explanation
from viz_app.components.sentence_bar import selected_words, sentence_payload, words_by_name


@pytest.fixture
def explanation() -> Explanation:
    target = ("\u2581Ein", "\u2581H", "und", ".", "\u2581", "<0xC3>", "<0xA4>", "</s>")
    return Explanation(
        source="A dog.",
        target="Ein Hund. \u00e4",
        source_tokens=("\u2581A", "\u2581dog", ".", "</s>"),
        fed_tokens=("<s>", *target[:-1]),
        predicted_tokens=target,
        log_probs=tuple(-0.1 * step for step in range(8)),
        alternatives=((),) * 8,
        maps={},
    )


def test_words_hold_their_pieces_with_their_probabilities_and_stand_where_the_text_has_them(
    explanation: Explanation,
) -> None:
    payload = sentence_payload(explanation)
    assert [
        ["".join(part for part, _ in piece["spans"]) for piece in word["pieces"]] for word in payload["target"]
    ] == [["Ein"], ["H", "\u00b7und"], ["."], ["\u2423", "\u00e4"], ["</s>"]]
    assert [word["glued"] for word in payload["target"]] == [False, False, True, False, False]
    assert [(word["start"], word["stop"]) for word in payload["source"]] == [(0, 1), (1, 2), (2, 3), (3, 4)]
    shown = [piece["probability"] for word in payload["target"] for piece in word["pieces"]]
    log_probs = [0.0, -0.1, -0.2, -0.3, -0.4, -0.5 - 0.6, -0.7]  # two bytes are one character
    assert shown == pytest.approx([math.exp(value) for value in log_probs], abs=1e-4)
    assert all(piece["probability"] is None for word in payload["source"] for piece in word["pieces"])


def test_words_that_are_left_out_are_marked_in_the_source(explanation: Explanation) -> None:
    payload = sentence_payload(explanation, left_out=[range(1, 2)])
    assert [word["leftOut"] for word in payload["source"]] == [False, True, False, False]
    assert not any(word["leftOut"] for word in payload["target"])  # which has a word at the same positions
    assert not any(word["leftOut"] for word in sentence_payload(explanation)["source"])


def test_each_sentence_is_read_from_where_most_of_its_letters_are_and_each_word_from_where_its_own_are() -> None:
    letters = [f"<0x{byte:02X}>" for byte in "\u05e9\u05dc".encode()]  # a word spelled in bytes
    source = ("\u2581", *letters, "\u2581is", "\u2581Hebrew", "?", "</s>")
    payload = sentence_payload(
        Explanation("\u05e9\u05dc is Hebrew?", "\u05e9\u05dc.", source, ("<s>",), ("</s>",), (0.0,), ((),), {})
    )
    assert payload["directions"] == {"source": "ltr", "target": "rtl"}
    assert [word["direction"] for word in payload["source"]] == ["rtl", "ltr", "ltr", "", "ltr"]


def test_selected_words_go_by_their_names(explanation: Explanation) -> None:
    words = words_by_name(explanation)
    numbers = {"source": range(4), "target": (0, 1, 3, 4, 7)}
    assert list(words) == [f"{side} {number}" for side, each in numbers.items() for number in each]
    assert words["target 1"] == ("target", range(1, 3))
    assert sentence_payload(explanation, (words["target 1"], words["source 0"]))["selected"] == ["target 1", "source 0"]
    assert sentence_payload(explanation)["selected"] == []


@pytest.mark.parametrize(
    ("sent", "found"),
    [
        (["target 1", "source 3", "target 1"], [("target", range(1, 3)), ("source", range(3, 4))]),
        ([], []),
        (["target 1", "target 2"], None),
        (["margin 0"], None),
        ([1], None),
        ("target 1", None),
        (None, None),
    ],
)
def test_what_the_browser_sends_is_words_of_the_sentence_or_nothing(
    explanation: Explanation, sent: object, found: object
) -> None:
    assert selected_words(sent, explanation) == found
