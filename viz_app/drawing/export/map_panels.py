"""Many small maps in one picture, such as all heads: SVG, PDF or PNG."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.drawing.drawing_data import MAX_CELL, reduced
from viz_app.drawing.export.canvas import (
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
from viz_app.drawing.export.selection import NOTHING, Selected, dim
from viz_app.drawing.theme import LIGHT, Theme
from viz_app.language import tr

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PanelValues = NDArray[np.float32]
MapPanel = tuple[str, PanelValues]  # title, often empty, and values
GAP = 0.16  # of a panel's side, free between two of them
SIDE = (1.1, 3.8)  # inches of a panel, at least and at most
TOKEN = 0.16  # inches that a written token takes
WRITTEN = 24  # tokens that there is room for
CHARACTERS = 12  # of a written token
SMALL: dict[str, Any] = {"fontsize": SMALL_POINTS, "parse_math": False}


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
    selected: Selected = NOTHING,
) -> bytes:
    """Draw matrices of one size in rows, on one scale.

    NaN cells are masked: hatched. More than 48 positions are reduced to 48.

    Args:
        panels: In rows, which may differ in length.
        title: Of the scale; by default that of weights.
        most: The scale is diverging, from -most to most; None: sequential, from 0 to 1.
        row_names, column_names: Of the rows and columns of panels.
        tokens: Of the matrices' rows and columns, written at the left and below if there are few.
        selected: Rows and columns of every matrix; the rest is dimmed.

    Raises:
        ValueError: The format is not one of `FORMATS`.
    """
    check_format(file_format)
    drawn = [[(name, reduced(reduced(values[None], 1), 2)[0]) for name, values in row] for row in panels]
    steps = _Steps.between(drawn[0][0][1])
    height, width, down, right = steps
    tile = np.full((down * len(drawn), right * max(map(len, drawn))), np.nan, dtype=np.float32)
    masked = np.zeros(tile.shape, dtype=np.bool_)
    for row, line in enumerate(drawn):
        for column, (_, values) in enumerate(line):
            place = slice(row * down, row * down + height), slice(column * right, column * right + width)
            tile[place], masked[place] = values, np.isnan(values)
    written = tokens if 0 < max(map(len, tokens)) <= WRITTEN else ((), ())
    side = min(SIDE[1], max(SIDE[0], TOKEN * max(map(len, written))))
    left, below = (inches([short(token, CHARACTERS) for token in side_tokens]) for side_tokens in written)
    figure, axes = paper(side * tile.shape[1] / width + left + 0.6, side * tile.shape[0] / height + below + 1.1, theme)
    axes.set_axis_off()
    colors, low, high = (theme.sequential, 0.0, 1.0) if most is None else (theme.diverging, -most, most)
    cells(axes, tile, colors, low, high, masked, theme)
    shown = _reduced_selection(selected, panels[0][0][1].shape)
    for row, line in enumerate(drawn):
        for column, (name, _) in enumerate(line):
            dim(axes, shown, (height, width), theme, (row * down, column * right))
            _frame(axes, name, column * right, row * down, (height, width), theme)
    _name_rows_and_columns(axes, row_names, column_names, steps, theme)
    _write_tokens(axes, written, (len(drawn), len(drawn[-1])), steps, theme)
    color_scale(figure, axes, colors, low, high, tr("weight") if title is None else title, theme)
    return saved(figure, file_format)


def _reduced_selection(selected: Selected, shape: tuple[int, ...]) -> Selected:
    """Return the rows and columns that `reduced` makes of the selected ones of a matrix."""

    def places(indices: Sequence[int], size: int) -> list[int]:
        if size <= MAX_CELL:
            return list(indices)
        return sorted({((index + 1) * MAX_CELL - 1) // size for index in indices})

    return {"query": places(selected["query"], shape[0]), "key": places(selected["key"], shape[1])}


class _Steps(NamedTuple):
    """Rows and columns of a panel, and from the first of one to the first of the next."""

    height: int
    width: int
    down: int
    right: int

    @staticmethod
    def between(panel: PanelValues) -> "_Steps":
        height, width = panel.shape
        return _Steps(height, width, height + max(1, round(GAP * height)), width + max(1, round(GAP * width)))


def _name_rows_and_columns(
    axes: "Axes", row_names: Sequence[str], column_names: Sequence[str], steps: _Steps, theme: Theme
) -> None:
    """Write names at the left of each row of panels, and above each column."""
    height, width, down, right = steps
    for row, name in enumerate(row_names):
        place = -1 - 0.04 * width, row * down + (height - 1) / 2
        axes.text(*place, name, ha="right", va="center", color=theme.faint, **SMALL)
    for column, name in enumerate(column_names):
        place = column * right + (width - 1) / 2, -0.8
        axes.text(*place, name, ha="center", va="bottom", color=theme.faint, **SMALL)


def _write_tokens(
    axes: "Axes", tokens: tuple[Sequence[str], Sequence[str]], count: tuple[int, int], steps: _Steps, theme: Theme
) -> None:
    """Write the tokens of rows at the left of each row of panels, and those of columns below the last one.

    Args:
        count: of the rows of panels, and of the panels in the last one.
    """
    height, _, down, right = steps
    for row in range(count[0]):
        for position, token in enumerate(tokens[0]):
            place = -0.8, row * down + position
            axes.text(*place, short(token, CHARACTERS), ha="right", va="center", color=theme.text, **SMALL)
    for column in range(count[1]):
        for position, token in enumerate(tokens[1]):
            place = column * right + position, (count[0] - 1) * down + height - 0.2
            axes.text(*place, short(token, CHARACTERS), ha="center", va="top", rotation=90, color=theme.text, **SMALL)


def _frame(axes: "Axes", name: str, x: int, y: int, size: tuple[int, int], theme: Theme) -> None:
    """Draw a hairline around a panel, and its name above."""
    from matplotlib.patches import Rectangle

    height, width = size
    axes.add_patch(Rectangle((x - 0.5, y - 0.5), width, height, fill=False, edgecolor=theme.hairline, linewidth=0.6))
    axes.text(x - 0.5, y - 0.6, name, ha="left", va="bottom", color=theme.text, **SMALL)
