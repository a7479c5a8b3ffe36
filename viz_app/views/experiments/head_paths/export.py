"""The graph of direct paths as SVG, PDF or PNG."""

from typing import Any

from viz_app.drawing.export.canvas import SMALL_POINTS, Format, check_format, paper, saved
from viz_app.drawing.line_weights import SMALL_WEIGHT, line_style
from viz_app.drawing.theme import LIGHT, Theme
from viz_app.language import tr
from viz_app.views.experiments.head_paths.figures import RADIUS, PathGraph, letter_place

PIXELS = 62  # of the drawing to an inch, so that no text is too small


def export_path_graph(graph: PathGraph, file_format: Format, theme: Theme = LIGHT, *, title: str = "") -> bytes:
    """Draw a graph as on the page.

    Raises:
        ValueError: The format is not one of `FORMATS`.
    """
    from matplotlib.patches import Circle, PathPatch
    from matplotlib.path import Path

    check_format(file_format)
    figure, axes = paper(graph.width / PIXELS, (graph.height + 34) / PIXELS, theme)
    axes.set_axis_off()
    axes.set_aspect("equal")
    axes.set_xlim(0, graph.width)
    axes.set_ylim(graph.height, -34)
    text: dict[str, Any] = {"va": "center", "parse_math": False, "fontsize": SMALL_POINTS}
    axes.text(0, -22, title, color=theme.text, **text)
    if any(edge.share < SMALL_WEIGHT for edge in graph.edges):
        axes.text(graph.width, -22, tr("dots: below 5% of the largest"), ha="right", color=theme.faint, **text)
    for name, at in graph.titles:
        axes.text(at.x, at.y - 8, name, color=theme.text, fontweight="bold", **text)
    for name, at in graph.rows:
        axes.text(at.x, at.y, name, color=theme.faint, **text)
    codes = [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4]
    for edge in graph.edges:
        style = line_style(edge.share, edge.dash).for_matplotlib
        axes.add_patch(PathPatch(Path(edge.curve, codes), fill=False, edgecolor=edge.color, **style))
    for node in graph.nodes:
        color = theme.text if node.used else theme.hairline
        axes.add_patch(Circle(node.at, RADIUS, facecolor=theme.background, edgecolor=color, linewidth=1, zorder=3))
        shown = theme.text if node.used else theme.faint
        axes.text(*node.at, node.label, ha="center", color=shown, zorder=4, **text)
    for edge in graph.edges:
        if edge.letter:
            at, box = letter_place(edge), {"facecolor": theme.background, "edgecolor": "none", "pad": 0.4, "alpha": 0.8}
            axes.text(*at, edge.letter, ha="center", color=theme.text, zorder=5, bbox=box, **text)
    return saved(figure, file_format)
