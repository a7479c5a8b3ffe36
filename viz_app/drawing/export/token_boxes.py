"""Coloured boxes with text, the tokens of a sentence or switches in rows, as SVG, PDF or PNG."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from viz_app.drawing.export.canvas import (
    CHARACTER,
    LABEL_POINTS,
    SMALL_POINTS,
    Format,
    check_format,
    cut,
    letters,
    paper,
    saved,
)
from viz_app.drawing.head_grid import readable_on
from viz_app.drawing.theme import LIGHT, Theme

LINE = 9.0  # inches after which a sentence goes on below
HEIGHT = 0.68  # inches of a line of tokens
CELL = (0.62, 0.38)  # inches of a switch
FREE = 0.08  # inches between two boxes


class Box(NamedTuple):
    """One box.

    Attributes:
        text: Inside; a long token is cut.
        color: Of the box, as #rrggbb.
        below: A number below it.
        marked: Whether it has a strong frame.
    """

    text: str
    color: str
    below: str = ""
    marked: bool = False


def export_tokens(boxes: Sequence[Box], file_format: Format, theme: Theme = LIGHT, *, title: str = "") -> bytes:
    """Draw a sentence as tokens, line by line, each with its number below.

    Raises:
        ValueError: The format is not one of `FORMATS`.
    """
    check_format(file_format)
    places: list[tuple[float, float, float]] = []
    x, line = 0.0, 0
    for box in boxes:
        width = max(letters(cut(box.text)), len(box.below), 2) * CHARACTER + 0.15
        if x and x + width > LINE:
            x, line = 0.0, line + 1
        places.append((x, line * HEIGHT, width))
        x += width + FREE
    return draw_boxes(
        list(zip(places, boxes, strict=True)), 0.37, (LINE, (line + 1) * HEIGHT), title, file_format, theme
    )


def export_boards(
    boards: Sequence[tuple[str, Sequence[tuple[str, Sequence[Box]]]]],
    file_format: Format,
    theme: Theme = LIGHT,
    *,
    title: str = "",
) -> bytes:
    """Draw boards of rows of boxes, one board below the other.

    Args:
        boards: Name and rows of each; each row has a name.

    Raises:
        ValueError: The format is not one of `FORMATS`.
    """
    check_format(file_format)
    placed: list[tuple[tuple[float, float, float], Box]] = []
    names: list[tuple[float, float, str]] = []
    y = 0.0
    for name, rows in boards:
        names.append((0.0, y + CELL[1] / 2, name))
        y += CELL[1]
        for row_name, boxes in rows:
            names.append((0.0, y + CELL[1] / 2, row_name))
            placed += [((0.45 + column * (CELL[0] + FREE), y, CELL[0]), box) for column, box in enumerate(boxes)]
            y += CELL[1] + FREE
        y += 2 * FREE
    columns = max((len(boxes) for _, rows in boards for _, boxes in rows), default=1)
    return draw_boxes(placed, CELL[1], (0.45 + columns * (CELL[0] + FREE), y), title, file_format, theme, names)


def draw_boxes(
    placed: Sequence[tuple[tuple[float, float, float], Box]],
    height: float,
    size: tuple[float, float],
    title: str,
    file_format: Format,
    theme: Theme,
    names: Sequence[tuple[float, float, str]] = (),
) -> bytes:
    """Draw boxes at (x, y, width), in inches from the top left."""
    from matplotlib.patches import FancyBboxPatch

    size = (max(size[0], letters(title) * CHARACTER), size[1])
    figure, axes = paper(size[0] + 0.3, size[1] + 0.6, theme)
    axes.set_axis_off()
    axes.set_xlim(-0.05, size[0] + 0.05)
    axes.set_ylim(size[1], -0.45)
    text: dict[str, Any] = {"va": "center", "parse_math": False}
    axes.text(0, -0.27, title, color=theme.faint, fontsize=LABEL_POINTS, **text)
    for x, y, name in names:
        axes.text(x, y, name, color=theme.faint, fontsize=SMALL_POINTS, **text)
    for (x, y, width), box in placed:
        edge, line = (theme.text, 1.6) if box.marked else (theme.hairline, 0.6)
        axes.add_patch(
            FancyBboxPatch(
                (x, y),
                width,
                height,
                boxstyle="round,pad=0,rounding_size=0.03",
                facecolor=box.color,
                edgecolor=edge,
                linewidth=line,
            )
        )
        middle = x + width / 2
        axes.text(
            middle,
            y + height / 2,
            cut(box.text),
            ha="center",
            color=readable_on(box.color),
            fontsize=LABEL_POINTS,
            **text,
        )
        axes.text(middle, y + height + 0.12, box.below, ha="center", color=theme.faint, fontsize=SMALL_POINTS, **text)
    return saved(figure, file_format)
