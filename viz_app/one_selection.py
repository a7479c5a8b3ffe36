"""One selection in several drawings: a word is pointed at and selected in all that have it, though it may stand elsewhere in each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from core.analysis.comparison import common_axes
from core.capture import AttentionMap, Kind
from viz_app import choice, state
from viz_app.components.lines import AXES, Axis

Positions = Mapping[Axis, Sequence[int | None]]  # of each row and key of a drawing: where the same word stands in the reading's own map


def own_positions(own: AttentionMap) -> Positions:
    """Of the reading's map itself."""
    return {"query": range(len(own.query_tokens)), "key": range(len(own.key_tokens))}


def other_positions(own: AttentionMap, other: AttentionMap) -> Positions:
    """Of another map of the same kind; None for the words that only it has."""
    found = [{there: here for here, there in pairs} for pairs in common_axes(own, other)]
    lengths = len(other.query_tokens), len(other.key_tokens)
    return {axis: [here.get(there) for there in range(length)] for axis, here, length in zip(AXES, found, lengths, strict=True)}


def common_positions(own: AttentionMap, other: AttentionMap) -> Positions:
    """Of their difference, which has the words of both."""
    return {axis: [here for here, _ in pairs] for axis, pairs in zip(AXES, common_axes(own, other), strict=True)}


@dataclass(frozen=True)
class Selection:
    """That of the words of what is read.

    Attributes:
        words, hide_special: what was done to the maps, as for `choice.links`.
    """

    reading: state.Reading
    kind: Kind
    words: bool
    hide_special: bool

    def look(self, positions: Positions) -> dict[str, Any]:
        """How a drawing is to show it: `links` and `place`, as `attention_map` takes them."""
        how = (self.reading.explanation, self.kind, self.words, self.hide_special)
        names, selected = choice.links(*how), choice.place(state.selected_word(self.reading), *how)
        links = {axis: ["" if here is None else names[axis][here] for here in positions[axis]] for axis in AXES}
        place = tuple(
            None if here is None or here not in positions[axis] else positions[axis].index(here) for axis, here in zip(AXES, selected, strict=True)
        )
        return {"links": links, "place": place}

    def select(self, clicked: tuple[Axis, int] | None, positions: Positions) -> None:
        """Select the word of a row or a column everywhere, if one was clicked that the reading has."""
        here = positions[clicked[0]][clicked[1]] if clicked else None
        if clicked is None or here is None:
            return
        word = choice.word_at(clicked[0], here, self.reading.explanation, self.kind, self.words, self.hide_special)
        if word:
            state.select_word(self.reading, word)
            st.rerun()
