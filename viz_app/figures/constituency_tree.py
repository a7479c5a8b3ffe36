"""A tree as a drawing: where its nodes stand, and the same on paper."""

from collections.abc import Sequence
from dataclasses import dataclass

from core.parsing.trees import Tree, constituents
from viz_app.figures.export.canvas import CHARACTER, LABEL_POINTS, Format, check_format, paper, saved
from viz_app.figures.theme import LIGHT, Theme

GAP = 2  # characters between two words
LEAST = 2  # characters of a word, with the gap enough for its weight below
ROW = 0.42  # inches on paper


@dataclass(frozen=True)
class Node:
    """A constituent or a word, in the order in which the sequence has them.

    Attributes:
        x: the middle, in characters from the left.
        row: from the top; all words are in the last one.
        parent: its place in the list; None for the root.
        opened, closed: positions in the tree's sequence; the same for a word.
        start, end: the first word below it, and the one behind the last.
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


def tree_nodes(tree: Tree) -> list[Node]:
    """Where everything stands: each word has room for itself and for whatever stands over it alone, each constituent
    the middle of its parts.
    """
    words, found = tree.words(), constituents(tree)
    widths = [max(LEAST, len(word)) for word in words]
    for each in found:
        if each.end - each.start == 1:
            widths[each.start] = max(widths[each.start], len(each.label))
    middles: list[float] = []
    left = 0.0
    for width in widths:
        middles.append(left + (width + GAP) / 2)
        left += width + GAP
    last = 1 + max(each.depth for each in found)
    by_opening = {each.opened: each for each in found}
    nodes: list[Node] = []
    above: list[int] = []

    def place(node: Tree, position: int, word: int) -> tuple[int, int, float]:
        """Put a node and what is below it into the list; the position and the word behind it, and its middle."""
        index, parent = len(nodes), above[-1] if above else None
        if node.word is not None:
            nodes.append(Node(node.word, middles[word], last, parent, position, position, word, word + 1, is_word=True))
            return position + 1, word + 1, middles[word]
        each = by_opening[position]
        nodes.append(Node(node.label, 0, each.depth, parent, position, each.closed, each.start, each.end))
        above.append(index)
        parts: list[float] = []
        position += 1
        for child in node.children:
            position, word, middle = place(child, position, word)
            parts.append(middle)
        above.pop()
        middle = (parts[0] + parts[-1]) / 2
        nodes[index] = Node(node.label, middle, each.depth, parent, each.opened, each.closed, each.start, each.end)
        return position + 1, word, middle

    place(tree, 0, 0)
    return nodes


def width(nodes: Sequence[Node]) -> float:
    """Of the whole drawing, in characters."""
    return max(node.x + len(node.label) / 2 for node in nodes) + GAP / 2


def edge(over: Node, node: Node) -> list[tuple[float, float]]:
    """From a node to one of its parts, in characters and rows: to its place in the next row, and straight down from
    there, so that no line crosses another however deep the words beside it stand.
    """
    return [(over.x, over.row + 0.25), (node.x, over.row + 1 - 0.28), (node.x, node.row - 0.28)]


def export_tree(tree: Tree, file_format: Format, theme: Theme = LIGHT) -> bytes:
    """The tree for a paper.

    Raises:
        ValueError: the format is not one of `FORMATS`.
    """
    check_format(file_format)
    nodes = tree_nodes(tree)
    rows, columns = nodes[-1].row if nodes[-1].is_word else max(node.row for node in nodes), width(nodes)
    figure, axes = paper(max(1.5, columns * CHARACTER * 1.15), (rows + 1) * ROW, theme)
    axes.set_axis_off()
    axes.set_xlim(0, columns)
    axes.set_ylim(rows + 0.5, -0.5)
    for node in nodes:
        if node.parent is not None:
            over = nodes[node.parent]
            x, y = zip(*edge(over, node), strict=True)
            axes.plot(x, y, color=theme.faint, linewidth=0.7, solid_joinstyle="round")
        axes.text(node.x, node.row, node.label, ha="center", va="center", color=theme.text, fontsize=LABEL_POINTS,
                  style="normal" if node.is_word else "italic", parse_math=False)  # fmt: skip
    return saved(figure, file_format)
