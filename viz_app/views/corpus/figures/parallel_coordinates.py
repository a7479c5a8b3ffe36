"""Parallel coordinates: a line for each item across several axes, on any of which a range can be selected."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from viz_app.drawing.export.canvas import SMALL_POINTS, Format, check_format, paper, saved
from viz_app.drawing.export.plotly_chart import DASHES
from viz_app.drawing.theme import LIGHT, Theme
from viz_app.language import localized

Range = tuple[float, float]
Ranges = Mapping[str, Range]  # by the key of an axis


@dataclass(frozen=True, kw_only=True)
class CoordinateAxis:
    """One axis.

    Attributes:
        key: Unique among the axes.
        name: Written above it.
        text: Its definition, shown on hover.
        low, high: Its ends.
    """

    key: str
    name: str
    text: str
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class CoordinateLine:
    """One item.

    Attributes:
        values: For each axis; None leaves a gap.
        group: Index of its group.
    """

    name: str
    values: Sequence[float | None]
    group: int = 0


@dataclass(frozen=True, kw_only=True)
class LineGroup:
    """Items drawn alike: colour as #rrggbb, and dash pattern."""

    name: str
    color: str
    dash: str = "solid"


@dataclass(frozen=True, kw_only=True)
class ParallelCoordinates:
    """Lines over axes.

    Attributes:
        ranges: Selected ranges; lines beyond any of them are faint.
        marked: Index of the line drawn on top with its name; None for none.
        name: For screen readers.
    """

    axes: Sequence[CoordinateAxis]
    lines: Sequence[CoordinateLine]
    groups: Sequence[LineGroup]
    ranges: Ranges
    marked: int | None = None
    name: str = ""

    def is_within(self, line: CoordinateLine) -> bool:
        """Whether a line is within all selected ranges; a gap is within none."""
        return within(dict(zip((axis.key for axis in self.axes), line.values, strict=True)), self.ranges)


def within(values: Mapping[str, float | None], ranges: Ranges) -> bool:
    """Whether values are within all ranges of axes that they have."""
    for key, (low, high) in ranges.items():
        if key in values and ((value := values[key]) is None or not low <= value <= high):
            return False
    return True


PITCH, HEIGHT = 0.95, 3.4  # inches between axes, and of the whole


def export_parallel(drawing: ParallelCoordinates, file_format: Format, theme: Theme = LIGHT) -> bytes:
    """Draw all lines; those beyond a selected range are faint.

    Raises:
        ValueError: The format is not one of `FORMATS`.
    """
    check_format(file_format)
    figure, axes = paper(PITCH * (len(drawing.axes) + 0.5), HEIGHT, theme)
    axes.set_axis_off()
    axes.set_xlim(-0.5, len(drawing.axes) - 0.2)
    axes.set_ylim(-0.12, 1.32)
    text: dict[str, Any] = {"ha": "center", "parse_math": False}
    for column, axis in enumerate(drawing.axes):
        axes.plot([column, column], [0, 1], color=theme.hairline, linewidth=1, zorder=1)
        axes.text(column, 1.09, axis.name.replace(" ", "\n", 1), fontsize=SMALL_POINTS, color=theme.text, **text)
        for end, value in ((-0.07, axis.low), (1.02, axis.high)):
            axes.text(column, end, localized(value, "g"), fontsize=SMALL_POINTS, color=theme.faint, **text)
        if axis.key in drawing.ranges:
            ends = [_height(drawing, column, value) for value in drawing.ranges[axis.key]]
            axes.plot([column, column], ends, color=theme.text, linewidth=4, alpha=0.35, zorder=4)
    order = sorted(range(len(drawing.lines)), key=lambda number: drawing.is_within(drawing.lines[number]))
    for number in (number for number in order if number != drawing.marked):
        _draw(axes, drawing, drawing.lines[number], theme, is_marked=False)
    if drawing.marked is not None:
        line = drawing.lines[drawing.marked]
        _draw(axes, drawing, line, theme, is_marked=True)
        if line.values[-1] is not None:
            height = _height(drawing, len(line.values) - 1, line.values[-1])
            label: dict[str, Any] = {**text, "ha": "left", "va": "center"}
            axes.text(
                len(line.values) - 0.92, height, line.name, fontsize=SMALL_POINTS, color=theme.text, zorder=6, **label
            )
    for group in drawing.groups:
        axes.plot([], [], color=group.color, linestyle=DASHES.get(group.dash, "solid"), label=group.name)
    legend = axes.legend(frameon=False, fontsize=SMALL_POINTS, labelcolor=theme.text, loc="upper left", ncols=3)
    for entry in legend.get_texts():
        entry.set_parse_math(False)
    return saved(figure, file_format)


def _height(drawing: ParallelCoordinates, column: int, value: float) -> float:
    axis = drawing.axes[column]
    return (value - axis.low) / ((axis.high - axis.low) or 1)


def _draw(axes: Any, drawing: ParallelCoordinates, line: CoordinateLine, theme: Theme, *, is_marked: bool) -> None:
    """Draw a line, with gaps where it has no value."""
    group = drawing.groups[line.group]
    look: dict[str, Any] = {"color": group.color, "linewidth": 0.8, "alpha": 0.7, "zorder": 3}
    look["linestyle"] = DASHES.get(group.dash, "solid")
    if is_marked:
        look |= {"color": theme.text, "linewidth": 2.4, "alpha": 1, "zorder": 5}
    elif not drawing.is_within(line):
        look |= {"color": theme.hairline, "alpha": 0.6, "zorder": 2}
    for is_known, run in groupby(enumerate(line.values), key=lambda each: each[1] is not None):
        if is_known:
            places = [(column, _height(drawing, column, value)) for column, value in run if value is not None]
            axes.plot(*zip(*places, strict=True), **look)
