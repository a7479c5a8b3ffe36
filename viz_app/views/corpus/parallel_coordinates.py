"""Parallel coordinates on the page: lines across several axes, on any of which a range can be selected."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from core.analysis.corpus.head_scores import Range
from viz_app.components.component import component_beside, sent_index

_component = component_beside(__file__)


def parallel_coordinates(
    data: Mapping[str, Any], on_range: Callable[[str, Range | None], None], on_line: Callable[[int], None], *, key: str
) -> None:
    """Draw `Data` of parallel_coordinates.js; a selected range or a clicked line is sent before the page runs again.

    Args:
        on_range: called with the key of an axis and its range, None for the whole axis.
        on_line: called with the index of a clicked line.
    """

    def ranged() -> None:
        axis_range = sent_range(st.session_state[key].get("range"), data["axes"])
        if axis_range is not None:
            on_range(*axis_range)

    def clicked() -> None:
        number = sent_index(st.session_state[key].get("line"), len(data["lines"]))
        if number is not None:
            on_line(number)

    _component(data=data, key=key, on_range_change=ranged, on_line_change=clicked)


def sent_range(value: object, axes: Sequence[Mapping[str, Any]]) -> tuple[str, Range | None] | None:
    """Return the axis and the range that the browser sent, or None if there are no such."""
    match value:
        case {"axis": str(key), "low": int() | float() as low, "high": int() | float() as high}:
            axis = next((axis for axis in axes if axis["key"] == key), None)
            if axis is None or not (math.isfinite(low) and math.isfinite(high) and low <= high):
                return None
            low, high = max(axis["low"], float(low)), min(axis["high"], float(high))
            if low > high:
                return None
            return key, None if (low, high) == (axis["low"], axis["high"]) else (low, high)
        case _:
            return None
