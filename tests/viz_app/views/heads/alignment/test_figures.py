"""Alignments as tables."""

import pytest
import torch

from core.analysis.alignment.pharaoh import GoldLinks
from core.analysis.alignment.sentence_alignment import WordAlignment
from core.analysis.tokens.words import Word
from viz_app.views.heads.alignment.figures import ribbon_table

EVIL = "<b>$x_1$</b>"
GOLD = GoldLinks(frozenset({(0, 0)}), frozenset({(0, 0), (1, 0)}))


@pytest.fixture
def alignment() -> WordAlignment:
    source, target = tuple(map(Word, ("A", EVIL))), tuple(map(Word, ("Ein", "Hund", ".")))
    return WordAlignment(source, target, torch.tensor([[0.9, 0.1], [0.0, 1.0], [0.005, 0.6]]))


def test_the_table_behind_the_ribbons(alignment: WordAlignment) -> None:
    table = ribbon_table(alignment, GOLD)
    assert len(table) == 6
    assert table["weight"].tolist() == pytest.approx([0.9, 0.1, 0.0, 1.0, 0.005, 0.6])
    assert table["link"].tolist() == [True, False, False, True, False, True]
    assert table["gold"].tolist() == ["sure", "possible", "", "", "", ""]
