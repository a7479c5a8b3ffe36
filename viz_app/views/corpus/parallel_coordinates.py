"""Parallel coordinates on the page, which send a range selected on an axis, or a clicked line, to the server."""

import math
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import streamlit as st

from viz_app.components.component import component_beside
from viz_app.views.corpus.figures.parallel_coordinates import ParallelCoordinates, Range

_component = component_beside(__file__)


def parallel_payload(drawing: ParallelCoordinates) -> dict[str, Any]:
    """Return the data of a drawing, see `Data` in parallel_coordinates.js."""
    return {
        "axes": [asdict(axis) | {"range": drawing.ranges.get(axis.key)} for axis in drawing.axes],
        "lines": [
            {"name": line.name, "values": list(line.values), "group": line.group, "faint": not drawing.is_within(line)}
            for line in drawing.lines
        ],
        "groups": [asdict(group) for group in drawing.groups],
        "marked": drawing.marked,
        "name": drawing.name,
    }


def parallel_coordinates(
    drawing: ParallelCoordinates,
    on_range: Callable[[str, Range | None], None],
    on_line: Callable[[int], None],
    *,
    key: str,
) -> None:
    """Draw parallel coordinates on the page.

    Args:
        on_range: Called with the key of an axis and its range, None for the whole axis, before the page runs again.
        on_line: Called with the index of a clicked line.
        key: Key of the component, as for any widget.
    """

    def ranged() -> None:
        axis_range = sent_range(st.session_state[key].get("range"), drawing)
        if axis_range is not None:
            on_range(*axis_range)

    def clicked() -> None:
        number = st.session_state[key].get("line")
        if isinstance(number, int) and not isinstance(number, bool) and 0 <= number < len(drawing.lines):
            on_line(number)

    _component(data=parallel_payload(drawing), key=key, on_range_change=ranged, on_line_change=clicked)


def sent_range(value: object, drawing: ParallelCoordinates) -> tuple[str, Range | None] | None:
    """Return the axis and the range that the browser sent, or None if there are no such."""
    match value:
        case {"axis": str(key), "low": int() | float() as low, "high": int() | float() as high}:
            axis = next((axis for axis in drawing.axes if axis.key == key), None)
            if axis is None or not (math.isfinite(low) and math.isfinite(high) and low <= high):
                return None
            low, high = max(axis.low, float(low)), min(axis.high, float(high))
            if low > high:
                return None
            return key, None if (low, high) == (axis.low, axis.high) else (low, high)
        case _:
            return None
