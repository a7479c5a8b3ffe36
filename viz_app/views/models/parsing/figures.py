"""Layout of a constituency tree, the tree as a table, and the attention of its brackets."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from core.analysis.heads.bracket_attention import SymbolAttention
from core.capture import AttentionMap
from core.parsing.parser import Parse
from core.parsing.trees import Tree, constituents
from core.text.byte_pieces import Word, is_special
from viz_app.drawing.theme import head_name

GAP = 2  # characters between two words
LEAST = 2  # characters of a word, with the gap enough for its weight below


@dataclass(frozen=True)
class TreeNode:
    """A constituent or a word, in the order of the tree's sequence.

    Attributes:
        x: Its middle, in characters from the left.
        row: From the top; all words are in the last one.
        parent: Index of its parent; None for the root.
        opened, closed: Positions in the tree's sequence; the same for a word.
        start, end: First word below it, and the word after the last.
    """

    label: str
    x: float
    row: int
    parent: int | None
    opened: int
    closed: int
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
    middles: list[float] = []
    left = 0.0
    for width in widths:
        middles.append(left + (width + GAP) / 2)
        left += width + GAP
    last = 1 + max(each.depth for each in spans)
    by_opening = {each.opened: each for each in spans}
    nodes: list[TreeNode] = []
    above: list[int] = []

    def place(node: Tree, position: int, word: int) -> tuple[int, int, float]:
        """Add a node and its descendants, and return the next position, the next word, and the node's middle."""
        index, parent = len(nodes), above[-1] if above else None
        if node.word is not None:
            nodes.append(
                TreeNode(node.word, middles[word], last, parent, position, position, word, word + 1, is_word=True)
            )
            return position + 1, word + 1, middles[word]
        each = by_opening[position]
        nodes.append(TreeNode(node.label, 0, each.depth, parent, position, each.closed, each.start, each.end))
        above.append(index)
        parts: list[float] = []
        position += 1
        for child in node.children:
            position, word, middle = place(child, position, word)
            parts.append(middle)
        above.pop()
        middle = (parts[0] + parts[-1]) / 2
        nodes[index] = TreeNode(node.label, middle, each.depth, parent, each.opened, each.closed, each.start, each.end)
        return position + 1, word, middle

    place(tree, 0, 0)
    return nodes


def constituent_table(parse: Parse) -> pd.DataFrame:
    """Return a row for each pair of brackets, with their log-probabilities; words are counted from 1."""
    spans = constituents(parse.tree)
    return pd.DataFrame(
        {
            "label": [each.label for each in spans],
            "depth": [each.depth for each in spans],
            "first_word": [each.start + 1 for each in spans],
            "last_word": [each.end for each in spans],
            "text": [" ".join(parse.words[each.start : each.end]) for each in spans],
            "opening_log_prob": [parse.token_log_probs[parse.positions[each.opened]] for each in spans],
            "closing_log_prob": [parse.token_log_probs[parse.positions[each.closed]] for each in spans],
        }
    )


def width(nodes: Sequence[TreeNode]) -> float:
    """Return the width of the drawing in characters."""
    return max(node.x + len(node.label) / 2 for node in nodes) + GAP / 2


def bracket_map(attention: SymbolAttention) -> AttentionMap:
    """Return a map with a row for each head, layer by layer, and a column for each key."""
    layers, heads, _ = attention.weights.shape
    names = tuple(Word(head_name(layer, head)) for layer in range(layers) for head in range(heads))
    keys = tuple(key if is_special(key) else Word(key) for key in attention.keys)
    return AttentionMap("cross", 0, attention.weights.flatten(0, 1)[None], names, keys)


def bracket_table(attention: SymbolAttention) -> pd.DataFrame:
    """Return a row for each head and key; layers, heads and keys are counted from 0."""
    layers, heads, keys = attention.weights.shape
    rows = [
        (attention.symbol, layer, head, key, attention.keys[key], attention.weights[layer, head, key].item())
        for layer in range(layers)
        for head in range(heads)
        for key in range(keys)
    ]
    return pd.DataFrame(rows, columns=["symbol", "layer", "head", "key", "attends_to", "weight"])
