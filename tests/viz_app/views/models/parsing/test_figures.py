"""Positions of the nodes of a tree, and the contents of its drawings."""

import itertools

import pytest
import torch

from core.analysis.heads.bracket_attention import SymbolAttention
from core.parsing.trees import Tree, linearise, read_trees
from viz_app.components.attention_map import map_payload
from viz_app.drawing.theme import LIGHT
from viz_app.views.models.parsing.constituency_tree import tree_payload
from viz_app.views.models.parsing.figures import TreeNode, bracket_map, tree_nodes, width


@pytest.fixture
def tree() -> Tree:
    (tree,) = read_trees("(S (NP (XX It)) (VP (XX likes) (NP (XX the) (XX $x$<b>))) (XX .))")
    return tree


def test_nodes_are_in_the_order_of_the_sequence(tree: Tree) -> None:
    nodes, symbols = tree_nodes(tree), linearise(tree)
    assert [node.label for node in nodes] == ["S", "NP", "It", "VP", "likes", "NP", "the", "$x$<b>", "."]
    assert [symbols[node.opened] for node in nodes] == ["(S", "(NP", "XX", "(VP", "XX", "(NP", "XX", "XX", "XX"]
    assert [symbols[node.closed] for node in nodes if not node.is_word] == [")S", ")NP", ")VP", ")NP"]
    assert [node.parent for node in nodes] == [None, 0, 1, 0, 3, 3, 5, 5, 0]


def test_words_stand_side_by_side_in_the_last_row_and_parents_above_their_parts(tree: Tree) -> None:
    nodes = tree_nodes(tree)
    words = [node for node in nodes if node.is_word]
    assert {node.row for node in words} == {3}
    for left, right in itertools.pairwise(words):
        assert right.x - left.x > (len(left.label) + len(right.label)) / 2
    for node in nodes:
        parts = [part for part in nodes if part.parent is not None and nodes[part.parent] is node]
        assert node.is_word or node.x == (parts[0].x + parts[-1].x) / 2
        assert all(part.row > node.row for part in parts)
    assert words[-1].x < width(nodes)


def test_a_long_label_over_one_short_word_has_room() -> None:
    (tree,) = read_trees("(S (WHADVP (XX so)) (WHADVP (XX it)))")
    first, second = (node for node in tree_nodes(tree) if node.label == "WHADVP")
    assert second.x - first.x > len("WHADVP")


def test_no_line_crosses_another() -> None:
    """A word that hangs high beside words that hang low: a straight line to it would cut through theirs."""
    (tree,) = read_trees(
        "(S (XX far) (NP (NP (NP (XX a) (XX b)) (XX c)) (PP (XX d) (NP (XX e)))) (XX ,) (VP (XX f)) (XX .))"
    )
    nodes = tree_nodes(tree)
    edges = [edge(nodes[node.parent], node) for node in nodes if node.parent is not None]
    segments = [
        (number, *ends)
        for number, points in enumerate(edges)
        for ends in itertools.pairwise(points)
        if ends[0] != ends[1]
    ]
    for (one, *first), (other, *second) in itertools.combinations(segments, 2):
        assert one == other or not crossing(first, second)


def edge(over: TreeNode, node: TreeNode) -> list[tuple[float, float]]:
    """The line from a node to a child, as constituency_tree.js draws it, in characters and rows."""
    return [(over.x, over.row + 0.25), (node.x, over.row + 1 - 0.28), (node.x, node.row - 0.28)]


def crossing(first: list[tuple[float, float]], second: list[tuple[float, float]]) -> bool:
    """Whether two segments have an inner point in common: the ends of each lie on either side of the other."""

    def side(ends: list[tuple[float, float]], point: tuple[float, float]) -> float:
        (x0, y0), (x1, y1) = ends
        return (x1 - x0) * (point[1] - y0) - (y1 - y0) * (point[0] - x0)

    return (
        side(first, second[0]) * side(first, second[1]) < -1e-9
        and side(second, first[0]) * side(second, first[1]) < -1e-9
    )


def test_payload(tree: Tree) -> None:
    payload = tree_payload(tree, 3, [0.1, 0.2, 0.3, 0.15, 0.25])
    assert payload["selected"] == 3
    assert [node["weight"] for node in payload["nodes"]] == [None, None, 0.1, None, 0.2, None, 0.3, 0.15, 0.25]
    assert payload["nodes"][3]["words"] == [2, 4]


def test_the_heads_of_one_symbol() -> None:
    weights = torch.tensor([[[0.25, 0.75], [1.0, 0.0]]])
    attention = SymbolAttention("cross", "(NP", ("<b>it", "</s>"), weights, (range(2), range(2, 3)))
    drawn = map_payload(bracket_map(attention), 0, LIGHT)
    assert drawn["query"] == [[("L1 H1", "")], [("L1 H2", "")]]
    assert drawn["key"] == [[("<b>it", "")], [("</s>", "special")]]
    assert bracket_map(attention).weights.tolist() == weights.tolist()
    assert attention.table()["weight"] == [0.25, 0.75, 1.0, 0.0]
