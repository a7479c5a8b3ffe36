"""A grid of cells as SVG, PDF or PNG."""

from typing import Any

from viz_app.drawing.cell_grid import CellGrid
from viz_app.drawing.export.canvas import (
    CHARACTER,
    SMALL_POINTS,
    Format,
    check_format,
    cut,
    inches,
    letters,
    paper,
    saved,
)
from viz_app.drawing.theme import LIGHT, Theme

HEIGHT = 0.22  # inches of a row
BAR_HEIGHT = 0.08
MOST = 16  # characters of a name or of a cell


def export_grid(grid: CellGrid, file_format: Format, theme: Theme = LIGHT, *, title: str = "") -> bytes:
    """Draw a grid with its names; cells that are marked have a strong frame, names of selected words are bold.

    Raises:
        ValueError: The format is not one of `FORMATS`.
    """
    from matplotlib.patches import Rectangle

    check_format(file_format)
    left = inches([cut(name, MOST) for name, _ in grid.rows])
    texts = [cut(cell.text, MOST) for _, cells in grid.rows for cell in cells if cell] + [
        cut(name, MOST) for name in grid.columns
    ]
    width = max(grid.cell_width, *map(letters, texts), 0) * CHARACTER * 0.85 + 0.08
    extent = left + width * len(grid.columns), HEIGHT * (len(grid.rows) + 1 + bool(grid.groups))
    extent = max(extent[0], letters(title) * CHARACTER), extent[1]
    figure, axes = paper(extent[0] + 0.2, extent[1] + 0.5, theme)
    axes.set_axis_off()
    axes.set_xlim(-0.05, extent[0] + 0.05)
    axes.set_ylim(extent[1], -0.3)
    text: dict[str, Any] = {"va": "center", "parse_math": False, "fontsize": SMALL_POINTS}
    axes.text(0, -0.18, title, color=theme.faint, **text)
    top, column = 0.0, 0
    if grid.groups:
        for name, count in grid.groups:
            axes.text(left + width * column, HEIGHT / 2, name, color=theme.text, **text)
            column += count
        top = HEIGHT
    for column, name in enumerate(grid.columns):
        axes.text(
            left + width * (column + 0.5), top + HEIGHT / 2, cut(name, MOST), ha="center", color=theme.faint, **text
        )
    for row, (name, cells) in enumerate(grid.rows):
        y = top + HEIGHT * (row + 1)
        on = bool(grid.words) and grid.words[row] in grid.selected
        style = {"color": theme.text, "weight": "bold"} if on else {"color": theme.faint}
        axes.text(left - 0.08, y + HEIGHT / 2, cut(name, MOST), ha="right", **style, **text)
        for column, cell in enumerate(cells):
            if cell is None:
                continue
            x = left + width * column
            edge, line = (theme.text, 1.4) if cell.marked else (theme.hairline, 0.0 if cell.bar else 0.5)
            start, stop = ((width - 0.03) * end for end in cell.bar or (0, 1))
            below = HEIGHT - BAR_HEIGHT if cell.bar else 0.0  # a bar stands below its number
            corner, size = (x + start, y + below), (stop - start, HEIGHT - 0.03 - below)
            axes.add_patch(Rectangle(corner, *size, facecolor=cell.color, edgecolor=edge, linewidth=line))
            axes.text(
                x + width / 2,
                y + HEIGHT / 2 - (BAR_HEIGHT / 2 if cell.bar else 0.01),
                cut(cell.text, MOST),
                ha="center",
                color=cell.text_color,
                fontweight="bold" if cell.strong else "normal",
                **text,
            )
    return saved(figure, file_format)
