"""A beam search as a tree: SVG, PDF or PNG."""

import math
from typing import TYPE_CHECKING, Any

from core.analysis.beam_tree import BeamNode, BeamTree
from viz_app.drawing.display_text import decimal
from viz_app.drawing.export.canvas import LABEL_POINTS, SMALL_POINTS, Format, check_format, paper, saved, short
from viz_app.drawing.line_weights import SMALL_WEIGHT, line_style
from viz_app.drawing.theme import LIGHT, Theme
from viz_app.language import localized, marked, tr, tr_values

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, HEIGHT = 1.5, 0.78  # inches of a candidate and the room around it
BOX = (0.88, 0.62)  # of that, the box itself
MAX_CHARACTERS = 12
MARKS = {"live": "\u25cf", "finished": "\u25a0", "pruned": "\u00d7", "dropped": "\u25cb"}
NAMES = {
    "live": marked("live"),
    "finished": marked("finished"),
    "pruned": marked("pruned at once"),
    "dropped": marked("continued, then dropped"),
}


def export_tree(tree: BeamTree, file_format: Format, theme: Theme = LIGHT) -> bytes:
    """Draw the whole search, a row for each position, best candidates left, with the best hypothesis in colour.

    Raises:
        ValueError: The format is not one of `FORMATS`.
    """
    check_format(file_format)
    columns, rows = max(map(len, tree.steps)), len(tree.steps)
    figure, axes = paper(WIDTH * columns + 0.4, HEIGHT * (rows + 1.7), theme)
    axes.set_axis_off()
    axes.set_xlim(-0.9, columns - 0.45)
    axes.set_ylim(rows + 1.1, -0.6)
    best = {tree.best[:length] for length in range(1, len(tree.best) + 1)}
    axes.text(
        0, 0, short(tree.start, MAX_CHARACTERS), ha="center", va="center", color=theme.faint, fontsize=LABEL_POINTS
    )
    for nodes in tree.steps:
        axes.text(
            -0.7,
            nodes[0].position,
            str(nodes[0].position),
            ha="center",
            va="center",
            color=theme.faint,
            fontsize=LABEL_POINTS,
        )
        for node in nodes:
            _node(axes, node, fate_at_end(node, tree), node.token_ids in best, theme)
    legend = "   ".join(f"{MARKS[fate]} {name}" for fate, name in tr_values(NAMES).items())
    legend += "   " + tr("dots: probability below {weight}", weight=localized(SMALL_WEIGHT, ".2f"))
    axes.text(-0.5, rows + 0.85, legend, va="center", color=theme.faint, fontsize=SMALL_POINTS)
    return saved(figure, file_format)


def fate_at_end(node: BeamNode, tree: BeamTree) -> str:
    """Return a key of `MARKS`: a continued candidate may have been dropped later."""
    return "dropped" if node.fate == "live" and node.alive_until < len(tree.steps) else node.fate


def _node(axes: "Axes", node: BeamNode, fate: str, best: bool, theme: Theme) -> None:
    """Draw a box with token, score and mark, and the line from its parent."""
    from matplotlib.patches import FancyBboxPatch

    alive = fate in ("live", "finished")
    color = theme.head_colors[0] if best else theme.faint if alive else theme.hairline
    width, height = BOX
    top = node.position - height / 2
    parent = 0 if node.parent is None else node.parent
    axes.plot(
        [parent, node.rank],
        [node.position - 1 + height / 2, top],
        color=color,
        zorder=0,
        **line_style(math.exp(node.token_log_prob)).for_matplotlib,
    )
    style: dict[str, Any] = {
        "linestyle": "solid" if alive else (0, (3, 2)),
        "linewidth": 2.2 if best or fate == "finished" else 1.1,
    }
    outline = FancyBboxPatch(
        (node.rank - width / 2, top), width, height, boxstyle="round,pad=0,rounding_size=0.06", **style
    )
    outline.set(facecolor=theme.background, edgecolor=color)
    axes.add_patch(outline)
    text: dict[str, Any] = {"va": "center", "parse_math": False}
    axes.text(
        node.rank - width / 2 + 0.1,
        node.position,
        MARKS[fate],
        ha="center",
        color=theme.faint,
        fontsize=SMALL_POINTS,
        **text,
    )
    words = theme.text if alive else theme.faint
    axes.text(
        node.rank + 0.06,
        node.position - 0.11,
        short(node.token, MAX_CHARACTERS),
        ha="center",
        color=words,
        fontsize=LABEL_POINTS,
        **text,
    )
    axes.text(
        node.rank + 0.06,
        node.position + 0.15,
        decimal(node.score, 2),
        ha="center",
        color=theme.faint,
        fontsize=SMALL_POINTS,
        **text,
    )
