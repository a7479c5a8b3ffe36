import ast
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.analysis.heads import labels
from core.analysis.heads.head import Head
from core.analysis.heads.labels import DEFINITIONS, head_labels
from core.analysis.heads.scorecards import ScoreCard
from core.analysis.heads.scorer import score_cards
from viz_app.drawing.scorecard_text import SHORT_NAMES, SORT_TEXTS, SORTS, Sort, head_does, notes, ordered, sentences
from viz_app.language import extraction


@pytest.fixture
def cards(make_map: Any) -> list[ScoreCard]:
    maps = [make_map(9, 7, num_heads=4, layer=layer) for layer in range(2)]
    rates = {Head("cross", layer, head): (5 * head + layer) % 7 / 7 for layer in range(2) for head in range(4)}
    found = score_cards([{"cross": maps}], {token: len(token) for token in maps[0].key_tokens}, rates)
    return [replace(card, agreement=(3 * card.head.head + card.head.layer) % 8 / 8) for card in found]


@pytest.mark.parametrize(
    ("by", "value"),
    [
        ("confidence", lambda card: -card.confidence),
        ("entropy", lambda card: card.entropy),
        ("offset", lambda card: card.offset),
        ("sink", lambda card: -card.sink_share),
        ("rare", lambda card: -card.rare_token),
        ("links", lambda card: -card.agreement),
        ("aligner", lambda card: card.alignment_error_rate),
        ("distance", lambda card: card.distance),
        ("label", lambda card: not head_labels(card)),
    ],
)
def test_every_head_has_its_place_and_says_what_it_stands_there_for(
    cards: list[ScoreCard], by: Sort, value: Any
) -> None:
    order, said = ordered(cards, by), notes(cards, by)
    by_head = {(card.head.layer, card.head.head): card for card in cards}
    assert order is not None
    assert sorted(order) == sorted(by_head)
    values = [value(by_head[head]) for head in order]
    assert values == sorted(values)
    assert all(bool(said[head].caption) == (by != "label" or bool(head_labels(by_head[head]))) for head in order)
    assert all(f"Entropy {card.entropy:.2f}" in said[head].text for head, card in by_head.items())
    assert SORTS[by]
    assert SORT_TEXTS[by]


def test_every_name_has_a_short_one_that_fits_a_cell() -> None:
    assert list(SHORT_NAMES) == list(DEFINITIONS)
    assert len(set(SHORT_NAMES.values())) == len(SHORT_NAMES)
    assert max(map(len, SHORT_NAMES.values())) <= 6


def test_layer_by_layer_is_no_order_and_has_no_captions(cards: list[ScoreCard]) -> None:
    assert ordered(cards, "layer") is None
    assert {note.caption for note in notes(cards, "layer").values()} == {""}


def test_a_number_is_said_once(cards: list[ScoreCard]) -> None:
    card = replace(cards[0], agreement=0.9, alignment_error_rate=float("nan"))
    assert "links 90% of the words" in sentences(card)
    card = replace(card, chances=(("links", 0.5),))
    assert head_does(card) == "links words like the other heads, 90% (random weights 50%)"
    assert "90%" not in sentences(card)


def test_what_has_no_number_comes_last(make_map: Any) -> None:
    cards = score_cards([{"decoder_self": [make_map(1, kind="decoder_self")]}])
    measured = score_cards([{"cross": [make_map(9, 7, layer=1)]}])
    order = ordered([*cards, *measured], "confidence")
    assert order is not None
    assert {layer for layer, _ in order[-3:]} == {0}
    without = notes(cards, "aligner")[0, 0]  # nobody has linked a word
    assert without.caption == ""
    assert without.text.startswith("L1 H1: nothing found")
    assert "AER" not in without.text


def test_texts_that_functions_of_labels_return_are_in_the_catalogues() -> None:
    source = ast.parse(Path(labels.__file__).read_text(encoding="utf-8"))
    functions = [each for each in source.body if isinstance(each, ast.FunctionDef)]
    constants = {each.value for node in functions for each in ast.walk(node) if isinstance(each, ast.Constant)}
    phrases = {text for text in constants if isinstance(text, str) and " " in text}
    phrases -= {ast.get_docstring(each) for each in functions}
    assert phrases
    assert [text for text in phrases if text not in extraction.template()] == []
