"""Parallel coordinates: a line for each item across several axes, on any of which a range can be selected."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
