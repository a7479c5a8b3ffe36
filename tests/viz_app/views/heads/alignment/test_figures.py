"""Alignments as tables and files: every word as text, nothing but vectors."""

from dataclasses import replace
from xml.etree import ElementTree

import pytest
import torch

from core.analysis.alignment.pharaoh import GoldLinks
from core.analysis.alignment.sentence_alignment import WordAlignment
from core.analysis.tokens.words import Word
from viz_app.drawing.theme import LIGHT
from viz_app.views.heads.alignment.figures import export_ribbon, ribbon_table

SVG = "{http://www.w3.org/2000/svg}"
EVIL = "<b>$x_1$</b>"
GOLD = GoldLinks(frozenset({(0, 0)}), frozenset({(0, 0), (1, 0)}))


@pytest.fixture
def alignment() -> WordAlignment:
    source, target = tuple(map(Word, ("A", EVIL))), tuple(map(Word, ("Ein", "Hund", ".")))
    return WordAlignment(source, target, torch.tensor([[0.9, 0.1], [0.0, 1.0], [0.005, 0.6]]))


def texts(file: bytes) -> list[str]:
    return ["".join(node.itertext()).strip() for node in ElementTree.fromstring(file).iter(f"{SVG}text")]


def paths(file: bytes, style: str) -> int:
    return sum(style in (node.get("style") or "") for node in ElementTree.fromstring(file).iter(f"{SVG}path"))


def test_a_ribbon_for_every_weight_that_is_seen(alignment: WordAlignment) -> None:
    file = export_ribbon(alignment, GOLD, "svg", shares=[0.5, 0.2, 1.0], title="L5 H3")
    assert {"A", EVIL, "Ein", "Hund", ".", "L5 H3", "source", "translation"} <= set(texts(file))
    assert paths(file, f"fill: {LIGHT.head_colors[0].lower()}; opacity: 0.5") == 3  # a link for each target word
    assert paths(file, f"fill: {LIGHT.faint.lower()}; opacity: 0.5") == 1  # the weight of 0.1; 0.005 is not seen
    assert paths(file, "stroke-dasharray") == 1  # the gold link that was not found
    small = replace(alignment, weights=alignment.weights.clamp(max=0.04))
    assert paths(export_ribbon(small, GOLD, "svg"), "stroke-dasharray") == 1 + 4  # each weight is small: dots
    assert export_ribbon(WordAlignment((), (), torch.zeros(0, 0)), GoldLinks(frozenset(), frozenset()), "svg")


def test_the_table_behind_the_ribbons(alignment: WordAlignment) -> None:
    table = ribbon_table(alignment, GOLD)
    assert len(table) == 6
    assert table["weight"].tolist() == pytest.approx([0.9, 0.1, 0.0, 1.0, 0.005, 0.6])
    assert table["link"].tolist() == [True, False, False, True, False, True]
    assert table["gold"].tolist() == ["sure", "possible", "", "", "", ""]


def test_ribbons_come_in_other_formats(alignment: WordAlignment) -> None:
    ribbon = export_ribbon(alignment, GOLD, "pdf")
    assert ribbon.startswith(b"%PDF")
    assert b"/Subtype /Image" not in ribbon
