"""Searches as files: every candidate as text, nothing but vectors."""

from typing import Any
from xml.etree import ElementTree

import pytest

from core.analysis.beam_tree import BeamNode, BeamTree
from core.decoding import Hypothesis, SearchOptions
from viz_app.drawing.theme import DARK
from viz_app.views.translate.beam.export import export_tree, fate_at_end

SVG = "{http://www.w3.org/2000/svg}"
EVIL = "<b>$x_1$</b>"


@pytest.fixture
def tree() -> BeamTree:
    """Two positions: `x` goes on and is continued to its end; `y` goes on and is dropped; all others are pruned."""

    def node(
        position: int, rank: int, parent: int | None, token: str, ids: tuple[int, ...], fate: Any, until: int
    ) -> BeamNode:
        return BeamNode(position, rank, parent, token, -0.5, -0.5, -0.5, ids, token, fate, until)

    first = (
        node(1, 0, None, "\u2581x", (7,), "live", 2),
        node(1, 1, None, f"\u2581{EVIL}", (8,), "live", 1),
        node(1, 2, None, "\u2581z", (9,), "pruned", 0),
    )
    second = (node(2, 0, 0, "</s>", (7, 2), "finished", 2), node(2, 1, 1, "\u2581v", (8, 5), "pruned", 1))
    options = SearchOptions(bos_id=1, eos_id=2, never=(0,), beam_size=2)
    return BeamTree((first, second), "beam_finished", options, (7, 2), (Hypothesis((7, 2), (-0.5, -0.5), -0.5),))


def texts(file: bytes) -> list[str]:
    return ["".join(node.itertext()).strip() for node in ElementTree.fromstring(file).iter(f"{SVG}text")]


def test_every_candidate_stands_in_the_tree_with_its_fate(tree: BeamTree) -> None:
    assert [fate_at_end(node, tree) for nodes in tree.steps for node in nodes] == [
        "live",
        "dropped",
        "pruned",
        "finished",
        "pruned",
    ]
    file = export_tree(tree, "svg", DARK)
    assert b"<image" not in file
    found = texts(file)
    assert {"x", EVIL, "z", "v", "</s>", "<s>", "1", "2"} <= set(found)
    assert found.count("\u00d7") == 2
    assert found.count("\u22120.50") == 5


def test_a_tree_comes_in_other_formats(tree: BeamTree) -> None:
    assert export_tree(tree, "png").startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="unknown format 'gif'"):
        export_tree(tree, "gif")  # type: ignore[arg-type]
