from typing import Any

import pytest

from core.analysis.scorecards import ScoreCard, score_cards
from viz_app.cards import SORT_TEXTS, SORTS, Sort, notes, ordered


@pytest.fixture
def cards(make_map: Any) -> list[ScoreCard]:
    return score_cards([{"cross": [make_map(9, 7, num_heads=4, layer=layer) for layer in range(2)]}])


@pytest.mark.parametrize(
    ("by", "value"),
    [
        ("confidence", lambda card: -card.confidence),
        ("entropy", lambda card: card.entropy),
        ("offset", lambda card: card.offset),
        ("sink", lambda card: -card.sink_share),
        ("label", lambda card: not card.labels),
    ],
)
def test_every_head_has_its_place_and_says_what_it_stands_there_for(cards: list[ScoreCard], by: Sort, value: Any) -> None:
    order, said = ordered(cards, by), notes(cards, by)
    by_head = {(card.head.layer, card.head.head): card for card in cards}
    assert order is not None
    assert sorted(order) == sorted(by_head)
    values = [value(by_head[head]) for head in order]
    assert values == sorted(values)
    assert all(bool(said[head].caption) == (by != "label" or bool(by_head[head].labels)) for head in order)
    assert all(f"entropy {card.entropy:.2f}" in said[head].text for head, card in by_head.items())
    assert SORTS[by]
    assert SORT_TEXTS[by]


def test_layer_by_layer_is_no_order_and_has_no_captions(cards: list[ScoreCard]) -> None:
    assert ordered(cards, "layer") is None
    assert {note.caption for note in notes(cards, "layer").values()} == {""}


def test_what_has_no_number_comes_last(make_map: Any) -> None:
    cards = score_cards([{"decoder_self": [make_map(1, kind="decoder_self")]}])
    measured = score_cards([{"cross": [make_map(9, 7, layer=1)]}])
    order = ordered([*cards, *measured], "confidence")
    assert order is not None
    assert {layer for layer, _ in order[-3:]} == {0}
