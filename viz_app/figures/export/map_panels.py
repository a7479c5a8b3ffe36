"""Many small maps in one picture, such as all heads: SVG, PDF or PNG."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from viz_app.figures.export.canvas import (
    SMALL_POINTS,
    Format,
    cells,
    check_format,
    color_scale,
    inches,
    paper,
    saved,
    short,
)
from viz_app.figures.head_grid import reduced
from viz_app.figures.theme import LIGHT, Theme
from viz_app.language import tr

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Matrix = NDArray[np.float32]
MapPanel = tuple[str, Matrix]  # what stands above it, often nothing, and its values
GAP = 0.16  # of a panel's side, free between two of them
SIDE = (1.1, 3.8)  # inches of a panel, at least and at most
TOKEN = 0.16  # inches that a written token takes
WRITTEN = 24  # tokens that there is room for
CHARACTERS = 12  # of a written token


def export_panels(
    panels: Sequence[Sequence[MapPanel]],
    file_format: Format,
    theme: Theme = LIGHT,
    *,
    title: str | None = None,
    most: float | None = None,
    row_names: Sequence[str] = (),
    column_names: Sequence[str] = (),
    tokens: tuple[Sequence[str], Sequence[str]] = ((), ()),
) -> bytes:
    """Draw matrices of one size in rows, on one scale.

    NaN cells are empty; more than 48 positions are reduced to 48.

    Args:
        panels: In rows, which may differ in length.
        title: Of the scale; by default that of weights.
        most: The scale is diverging, from -most to most; None: sequential, from 0 to 1.
        row_names, column_names: Of the rows and columns of panels.
        tokens: Of the matrices' rows and columns, written at the left and below if there are few.

    Raises:
        ValueError: The format is not one of `FORMATS`.
    """
    check_format(file_format)
    drawn = [[(name, reduced(reduced(values[None], 1), 2)[0]) for name, values in row] for row in panels]
    height, width = drawn[0][0][1].shape
    down, right = height + max(1, round(GAP * height)), width + max(1, round(GAP * width))  # from a panel to the next
    tile = np.full((down * len(drawn), right * max(map(len, drawn))), np.nan, dtype=np.float32)
    for row, line in enumerate(drawn):
        for column, (_, values) in enumerate(line):
            tile[row * down : row * down + height, column * right : column * right + width] = values
    written = tokens if 0 < max(map(len, tokens)) <= WRITTEN else ((), ())
    side = min(SIDE[1], max(SIDE[0], TOKEN * max(map(len, written))))
    left, below = (inches([short(token, CHARACTERS) for token in side_tokens]) for side_tokens in written)
    figure, axes = paper(side * tile.shape[1] / width + left + 0.6, side * tile.shape[0] / height + below + 1.1, theme)
    axes.set_axis_off()
    colors, low, high = (theme.sequential, 0.0, 1.0) if most is None else (theme.diverging, -most, most)
    cells(axes, tile, colors, low, high)
    for row, line in enumerate(drawn):
        for column, (name, _) in enumerate(line):
            _frame(axes, name, column * right, row * down, (height, width), theme)
    small: dict[str, Any] = {"fontsize": SMALL_POINTS, "parse_math": False}
    for row, name in enumerate(row_names):
        axes.text(
            -1 - 0.04 * width, row * down + (height - 1) / 2, name, ha="right", va="center", color=theme.faint, **small
        )
    for column, name in enumerate(column_names):
        axes.text(column * right + (width - 1) / 2, -0.8, name, ha="center", va="bottom", color=theme.faint, **small)
    for row in range(len(drawn)):
        for position, token in enumerate(written[0]):
            axes.text(
                -0.8,
                row * down + position,
                short(token, CHARACTERS),
                ha="right",
                va="center",
                color=theme.text,
                **small,
            )
    for column in range(len(drawn[-1])):
        for position, token in enumerate(written[1]):
            place = (column * right + position, tile.shape[0] - down + height - 0.2)
            axes.text(*place, short(token, CHARACTERS), ha="center", va="top", rotation=90, color=theme.text, **small)
    color_scale(figure, axes, colors, low, high, tr("weight") if title is None else title, theme)
    return saved(figure, file_format)


def _frame(axes: "Axes", name: str, x: int, y: int, size: tuple[int, int], theme: Theme) -> None:
    """Draw a hairline around a panel, and its name above."""
    from matplotlib.patches import Rectangle

    height, width = size
    axes.add_patch(Rectangle((x - 0.5, y - 0.5), width, height, fill=False, edgecolor=theme.hairline, linewidth=0.6))
    axes.text(x - 0.5, y - 0.6, name, ha="left", va="bottom", color=theme.text, fontsize=SMALL_POINTS, parse_math=False)
