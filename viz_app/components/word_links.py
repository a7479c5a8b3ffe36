"""Words of the sentence bar behind each row and column of a map, and those that are highlighted."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from core import Explanation
from core.analysis.tokens.words import map_groups, word_groups
from core.capture import Kind
from viz_app.components.sentence_bar import Side

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


def links(explanation: Explanation, kind: Kind, words: bool, hide_special: bool) -> dict[Axis, list[str]]:
    """Return the name of the word that each row and column of a map belongs to, transformed as by `map_groups`.

    They are names as in the sentence bar, such as `target 3`; "" for `<s>`.
    """
    of_axes = positions(explanation, kind, words, hide_special)
    return {axis: names(explanation, groups, *_sentence_of(axis, kind)) for axis, groups in of_axes.items()}


def names(explanation: Explanation, groups: Sequence[range], side: Side, shift: int) -> list[str]:
    """Return the name of the word that each group of positions belongs to, see `links`.

    The positions are shifted against those of the side's tokens, by 1 if they are of the fed tokens.
    """
    tokens = explanation.source_tokens if side == "source" else explanation.predicted_tokens
    starts = {position: group.start for group in word_groups(tokens) for position in group}
    return [f"{side} {starts[group.start - shift]}" if group.start - shift in starts else "" for group in groups]


def positions(explanation: Explanation, kind: Kind, words: bool, hide_special: bool) -> dict[Axis, list[range]]:
    """Return the positions of the tokens behind each row and column of a map."""
    rows = explanation.source_tokens if kind == "encoder_self" else explanation.predicted_tokens
    keys = explanation.fed_tokens if kind == "decoder_self" else explanation.source_tokens
    query, key = map_groups(kind, rows, keys, words, hide_special)
    return {"query": query, "key": key}


def _sentence_of(axis: Axis, kind: Kind) -> tuple[Side, int]:
    """Return the sentence that an axis shows, and the shift of its tokens.

    Output tokens are fed to the decoder one position later.
    """
    if kind == "encoder_self" or (kind == "cross" and axis == "key"):
        return "source", 0
    return "target", 1 if axis == "key" else 0
