"""A step's formula, sentence and vectors as SVG, PDF or PNG."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from core.analysis.tokens.words import readable
from viz_app.drawing.display_text import decimal
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
    wrapped,
)
from viz_app.drawing.theme import LIGHT, Theme
from viz_app.language import localized, tr
from viz_app.views.steps.figures.step_views import Block, NumberColumn, StepView, VectorRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CELL = (0.1, 0.2)  # inches of a cell of a line, at least and at most
LINE = 0.2  # inches from cell to cell downwards
VECTORS = 6.4  # inches of a line of cells, about
BARS = 0.6  # inches of bars
TITLE, HEADING = 0.34, 0.24  # inches of a title, and of the headings of columns
NUMBER = 1.7  # inches of a number and its bar
MOST = 30  # characters of a name
CHARACTERS = 90  # of a line of the sentence
TEXT_CHARACTER, TEXT_LINE = 0.095, 0.22  # inches of one of them, and of the line
FORMULA = 0.95  # inches


def export_step(view: StepView, file_format: Format, theme: Theme = LIGHT, *, pick: int | None = None) -> bytes:
    """Draw a step from top to bottom.

    Args:
        pick: Row of which to draw the details; None: that of the view.

    Raises:
        ValueError: The format is not one of `FORMATS`.
    """
    check_format(file_format)
    picked = view.picked if pick is None or pick >= len(view.details) else pick
    blocks = [*view.details[picked : picked + 1], *view.blocks]
    lines, formulas = wrapped(view.text, CHARACTERS), [view.formula, *view.numbers]
    aside = (wrapped(view.aside[0], CHARACTERS), [view.aside[1]]) if view.aside else ([], [])
    height = TITLE + _words_height(lines, formulas) + sum(map(_height, blocks)) + _words_height(*aside)
    left = max(map(_left, blocks), default=0.0)
    of_text = max(map(letters, lines + aside[0])) * TEXT_CHARACTER
    width = max([7.0, of_text, *(_width(block, left) for block in blocks)])
    figure, axes = paper(width + 0.2, height + 0.2, theme)
    axes.set_axis_off()
    axes.set_xlim(-0.05, width + 0.05)
    axes.set_ylim(height, -0.1)
    heading = tr("{group}: {step} (section {section})", group=view.group, step=view.title, section=view.section)
    heading += view.figure and f" \u00b7 {view.figure}"
    bold: dict[str, Any] = {"fontweight": "bold", "fontsize": LABEL_POINTS}
    axes.text(0, 0.12, heading, color=theme.text, va="center", parse_math=False, **bold)
    _draw_words(axes, lines, formulas, TITLE, theme)
    y = TITLE + _words_height(lines, formulas)
    for block in blocks:
        _draw_block(axes, block, left, y, theme)
        y += _height(block)
    _draw_words(axes, *aside, y, theme)
    return saved(figure, file_format)


def _draw_words(axes: "Axes", lines: Sequence[str], formulas: Sequence[str], top: float, theme: Theme) -> None:
    """Draw lines of text, and formulas below them."""
    text: dict[str, Any] = {"color": theme.text, "va": "center", "fontsize": LABEL_POINTS}
    for number, line in enumerate(lines):
        axes.text(0, top + TEXT_LINE * number + 0.1, line, parse_math=False, **text)
    for number, formula in enumerate(formulas):
        drawn = "$" + formula.replace(r"\frac", r"\dfrac") + "$"
        axes.text(0, top + TEXT_LINE * len(lines) + FORMULA * (number + 0.5), drawn, **text)


def _words_height(lines: Sequence[str], formulas: Sequence[str]) -> float:
    return TEXT_LINE * len(lines) + FORMULA * len(formulas)


def _draw_block(axes: "Axes", block: Block, left: float, top: float, theme: Theme) -> None:
    low, high = localized(-block.limit, ".2g"), localized(block.limit, "+.2g")
    scale = f"   {tr('{low} to {high}', low=low, high=high)}" if block.has_legend else ""
    text: dict[str, Any] = {"va": "center", "parse_math": False, "fontsize": SMALL_POINTS}
    axes.text(0, top + TITLE / 2, block.title + scale, color=theme.faint, **text)
    right = left + _cells(block)
    headings = top + TITLE + HEADING / 2
    for number, column in enumerate(block.columns):
        axes.text(right + NUMBER * number + 0.8, headings, tr(column.title), color=theme.faint, ha="center", **text)
    y = top + _top(block)
    for row in block.rows:
        height = _row_height(row, block)
        name = cut(readable(row.label) if row.is_token else row.label, MOST)
        weight = "bold" if row.is_marked else "normal"
        axes.text(left - 0.1, y + height / 2, name, color=theme.text, ha="right", fontweight=weight, **text)
        if len(row.values):
            (_draw_bars if row.as_bars else _draw_cells)(axes, row, block, left, y, theme)
        for number, (value, column) in enumerate(zip(row.numbers, block.columns, strict=False)):
            limit = block.column_limit(number)
            _draw_number(axes, value, column, limit, right + NUMBER * number, y + height / 2, theme)
        at = right + NUMBER * len(block.columns) + 0.1
        axes.text(at, y + height / 2, row.note, color=theme.faint, ha="left", **text)
        y += height


def _draw_cells(axes: "Axes", row: VectorRow, block: Block, left: float, top: float, theme: Theme) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    lines = -(-len(row.values) // block.width)
    padded = np.full(lines * block.width, np.nan)
    padded[: len(row.values)] = row.values
    cell = _cell(block)
    height = _row_height(row, block) - 0.04
    axes.pcolormesh(
        left + cell * np.arange(block.width + 1),
        top + 0.02 + height / lines * np.arange(lines + 1),
        np.ma.masked_invalid(padded.reshape(lines, block.width)),
        cmap=LinearSegmentedColormap.from_list("cells", theme.diverging),
        vmin=-(row.limit or block.limit),
        vmax=row.limit or block.limit,
        edgecolor="face",
        linewidth=0.15,
        rasterized=False,
    )


def _draw_bars(axes: "Axes", row: VectorRow, block: Block, left: float, top: float, theme: Theme) -> None:
    cell, middle = _cell(block), top + BARS / 2
    values = np.nan_to_num(row.values)
    axes.bar(
        left + cell * (np.arange(len(values)) + 0.5),
        -values / (row.limit or block.limit) * (BARS / 2 - 0.03),  # the axis points down
        bottom=middle,
        width=0.8 * cell,
        color=[theme.diverging[0] if value < 0 else theme.diverging[-1] for value in values],
    )
    axes.plot([left, left + cell * len(values)], [middle, middle], color=theme.hairline, linewidth=0.6)


def _draw_number(
    axes: "Axes", value: float | None, column: NumberColumn, limit: float, left: float, y: float, theme: Theme
) -> None:
    name = tr("hidden") if value is None else decimal(value, column.digits)
    text: dict[str, Any] = {"va": "center", "ha": "right", "parse_math": False, "fontsize": SMALL_POINTS}
    axes.text(left + 0.8, y, name, color=theme.text if value is not None else theme.faint, **text)
    if value is None:
        return
    length = 0.75 * value / limit
    start = left + 0.88
    if column.scale == "signed":
        start, length = start + 0.375, length / 2
    axes.barh(y, length, height=0.1, left=start, color=theme.diverging[0 if length < 0 else -1])


def _cell(block: Block) -> float:
    return min(CELL[1], max(CELL[0], VECTORS / block.width))


def _cells(block: Block) -> float:
    """Inches of the cells or bars, 0 if there are none."""
    return _cell(block) * block.width if any(len(row.values) for row in block.rows) else 0.0


def _left(block: Block) -> float:
    """Inches of the names."""
    names = [cut(readable(row.label) if row.is_token else row.label, MOST) for row in block.rows]
    return max(map(letters, names), default=0) * CHARACTER + 0.2


def _row_height(row: VectorRow, block: Block) -> float:
    if row.as_bars:
        return BARS
    lines = -(-len(row.values) // block.width)
    return max(0.22, lines * min(LINE, _cell(block)) + 0.04)


def _height(block: Block) -> float:
    return _top(block) + sum(_row_height(row, block) for row in block.rows) + 0.12


def _top(block: Block) -> float:
    """Inches of the title and of the headings of columns."""
    return TITLE + (HEADING if block.columns else 0.0)


def _width(block: Block, left: float) -> float:
    notes = max((letters(row.note) for row in block.rows), default=0) * CHARACTER
    return max(left + _cells(block) + NUMBER * len(block.columns) + notes, letters(block.title) * CHARACTER)
