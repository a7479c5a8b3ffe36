"""Highlighted rows and columns of an attention drawing, and their words."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

Axis = Literal["query", "key"]
AXES: tuple[Axis, Axis] = ("query", "key")
Highlight = Mapping[Axis, Sequence[int]]  # rows and columns
Links = Mapping[Axis, Sequence[str]]  # name of the word of each row and column, see `word_links.links`
NO_HIGHLIGHT: Highlight = {"query": (), "key": ()}


def highlight_data(place: Highlight, links: Links | None) -> dict[str, Any]:
    """Return the highlighted rows and columns, and the names of the words; see `AxisData` in types.d.ts."""
    return {"lit": {axis: list(place[axis]) for axis in AXES}, "links": links}


def line_highlight(place: Highlight, links: Links | None = None) -> dict[Axis, list[int]]:
    """Return the highlighted rows and columns whose lines are drawn.

    A word may have a row and a column, as in decoder self-attention: then only its row counts.
    """
    rows = {links["query"][row] for row in place["query"]} if links else set[str]()
    keys = [key for key in place["key"] if not links or links["key"][key] not in rows]
    return {"query": list(place["query"]), "key": keys}
