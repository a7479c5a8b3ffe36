"""Heads are described by what they do more of than heads with random weights."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from core.analysis.alignment.first_head import cards_of
from core.analysis.corpus import head_description as module
from core.analysis.corpus.head_description import HEADS, HeadDescriptions, description, random_twin, with_chances
from core.analysis.pictures import Cell
from core.trace import Head, Kind
from core.translator import Translator
from tests.core.analysis.heads.test_scorer import EVEN, PREVIOUS, card, one_hot

SENTENCE = "A dog runs.", "Ein Hund rennt."


@pytest.mark.parametrize(
    ("planted", "behaviour", "share"),
    [(PREVIOUS, "previous", 0.8), (one_hot(1, 2, 3, 4, 4), "next", 0.8), (one_hot(4, 4, 4, 4, 4), "end", 1.0)],
)
def test_a_planted_head_is_found(planted: list[list[float]], behaviour: str, share: float):
    [found] = with_chances([card(planted)], [card(EVEN)])
    assert tuple(description(found) or ()) == (behaviour, pytest.approx(share), pytest.approx(share / 5))


def test_the_head_that_does_most_is_named_beside_the_median():
    ranked = [(each, each.previous) for each in (card(PREVIOUS), card(EVEN), card(EVEN))]
    said = "Of 3 heads, Encoder L1 H1 most clearly attends to the previous token, 80%; the median head has 16%."
    assert module.ranking_answer(ranked, "previous") == said
    [found] = with_chances([card(PREVIOUS)], [card(EVEN)])
    assert "80% (random weights 16%)" in module.ranking_answer([(found, found.previous)], "previous")


def test_random_weights_do_no_more_than_themselves(translator: Translator):
    twin = random_twin(translator)
    assert twin
    cards = cards_of([twin.explain(*SENTENCE).maps])
    assert not any(map(description, with_chances(cards, cards)))
    assert not any(map(description, cards))  # without chances nothing is known


def test_the_result_counts_what_its_picture_shows(translator: Translator):
    result = HEADS(translator, *SENTENCE)
    kinds: tuple[Kind, ...] = ("encoder_self", "cross")
    shown = [cell and cell.text for kind in kinds for row in drawn(result, kind) for cell in row]
    found = [each for head, each in result.heads.items() if head.kind != "decoder_self"]
    assert [bool(text) for text in shown] == [each is not None for each in found]
    assert result.table()["does"].count("nothing found") == [*result.heads.values()].count(None)
    nothing = replace(result, heads=dict.fromkeys(result.heads))
    assert nothing.answer(Head("cross", 0, 0)).startswith("None of these")


def drawn(result: HeadDescriptions, kind: Kind) -> list[Sequence[Cell | None]]:
    [grid] = result.pictures(Head(kind, 0, 0))
    return [row for _, row in grid.rows]


def test_a_large_model_is_not_copied(translator: Translator, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "is_large", lambda model: True)
    with pytest.raises(ValueError, match="too large to be compared with random weights: describe a smaller one"):
        HEADS(translator, *SENTENCE)
