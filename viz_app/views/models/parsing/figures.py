"""Layout of a constituency tree, the tree as a table, and the attention of its brackets."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.analysis.heads.bracket_attention import SymbolAttention
from core.capture import AttentionMap
from core.parsing.trees import Tree, constituents
from core.text.byte_pieces import Word, is_special
from viz_app.drawing.theme import head_name

GAP = 2  # characters between two words
LEAST = 2  # characters of a word, with the gap enough for its weight below


@dataclass(frozen=True)
class TreeNode:
    """A constituent or a word, in the order of the tree's sequence."""

    label: str
    x: float  # its middle, in characters from the left
    row: int  # from the top; all words are in the last one
    parent: int | None  # index of its parent; None for the root
    # opened and closed: positions in the tree's sequence; the same for a word
    opened: int
    closed: int
    # start and end: first word below it, and the word after the last
    start: int
    end: int
    is_word: bool = False


def tree_nodes(tree: Tree) -> list[TreeNode]:
    """Lay out a tree.

    A word is as wide as itself and the constituents over it alone; a constituent is centred over its children.
    """
    words, spans = tree.words(), constituents(tree)
    widths = [max(LEAST, len(word)) for word in words]
    for each in spans:
        if each.end - each.start == 1:
            widths[each.start] = max(widths[each.start], len(each.label))
    ends = itertools.accumulate(width + GAP for width in widths)
    middles = [end - (width + GAP) / 2 for end, width in zip(ends, widths, strict=True)]
    last = 1 + max(each.depth for each in spans)
    brackets = {position for each in spans for position in (each.opened, each.closed)}
    places = [position for position in range(len(brackets) + len(words)) if position not in brackets]
    nodes = [
        TreeNode(each.label, 0, each.depth, None, each.opened, each.closed, each.start, each.end) for each in spans
    ] + [
        TreeNode(word, middles[number], last, None, place, place, number, number + 1, is_word=True)
        for number, (word, place) in enumerate(zip(words, places, strict=True))
    ]
    nodes.sort(key=lambda node: node.opened)
    above: list[int] = []
    for index, node in enumerate(nodes):
        while above and nodes[above[-1]].closed < node.opened:
            above.pop()
        nodes[index] = replace(node, parent=above[-1] if above else None)
        if not node.is_word:
            above.append(index)
    for index in reversed(range(len(nodes))):  # the parts of a constituent come after it
        if parts := [node.x for node in nodes if node.parent == index]:
            nodes[index] = replace(nodes[index], x=(parts[0] + parts[-1]) / 2)
    return nodes


def width(nodes: Sequence[TreeNode]) -> float:
    """Return the width of the drawing in characters."""
    return max(node.x + len(node.label) / 2 for node in nodes) + GAP / 2


def bracket_map(attention: SymbolAttention) -> AttentionMap:
    """Return a map with a row for each head, layer by layer, and a column for each key."""
    layers, heads, _ = attention.weights.shape
    names = tuple(Word(head_name(layer, head)) for layer in range(layers) for head in range(heads))
    keys = tuple(key if is_special(key) else Word(key) for key in attention.keys)
    return AttentionMap("cross", 0, attention.weights.flatten(0, 1)[None], names, keys)
