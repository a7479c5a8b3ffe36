"""The selected words of a reading, and their rows and columns in drawings."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core import Explanation
from core.analysis.comparison import common_axes
from core.capture import AttentionMap, Kind
from viz_app.components import word_links
from viz_app.components.sentence_bar import word_name
from viz_app.components.word_links import AXES, Axis, Links
from viz_app.session import readings
from viz_app.session.readings import TokenView

# for each row and column of a drawing: the position of the same word in the reading's own map, or None
TokenPositions = Mapping[Axis, Sequence[int | None]]


def links(explanation: Explanation, kind: Kind, tokens: TokenView) -> dict[Axis, list[str]]:
    """Name the word that each row and column belongs to, as the sentence bar does."""
    return word_links.links(explanation, kind, tokens.words, tokens.hide_special)


def selected_names(about: readings.Reading) -> tuple[str, ...]:
    """Name the selected words, as `links` does, in the order of selection."""
    return tuple(map(word_name, readings.selected_words(about)))


def highlighted(names: Sequence[str], links: Links) -> dict[Axis, list[int]]:
    """Find the rows and columns of a drawing that belong to words of these names, which are in the order of selection.

    Two words that each have a row and a column, as in self-attention, are the row of the one that attends and the
    column of the other one, see `attending_first`.
    """
    of_axis: dict[Axis, Collection[str]] = dict.fromkeys(AXES, names)
    if len(names) == 2 and all(name in links[axis] for name in names for axis in AXES):
        query, key = attending_first(*names)
        of_axis = {"query": [query], "key": [key]}
    return {axis: [index for index, name in enumerate(links[axis]) if name in of_axis[axis]] for axis in AXES}


def attending_first(one: str, other: str) -> tuple[str, str]:
    """Order the names of two words, as selected, as `word_pair` does: the one that attends, then the other.

    The order of selection decides in the source; a target word attends to the source and the words before it.
    """
    (side, start), (other_side, other_start) = one.split(), other.split()
    if side == other_side == "source":
        return one, other
    is_later = (side == "target", int(start)) > (other_side == "target", int(other_start))
    return (one, other) if is_later else (other, one)


def drawing_options(about: readings.Reading, links: Links) -> dict[str, Any]:
    """Return the options `links` and `place` of a drawing, which show the selection."""
    return {"links": links, "place": highlighted(selected_names(about), links)}


def own_positions(own: AttentionMap) -> TokenPositions:
    """Return the positions of the reading's own map."""
    return {"query": range(len(own.query_tokens)), "key": range(len(own.key_tokens))}


def other_positions(own: AttentionMap, other: AttentionMap) -> TokenPositions:
    """Return the positions of another map of the same kind, None for words that only the other map has."""
    counterparts = [{there: here for here, there in pairs} for pairs in common_axes(own, other)]
    lengths = len(other.query_tokens), len(other.key_tokens)
    return {
        axis: [here.get(there) for there in range(length)]
        for axis, here, length in zip(AXES, counterparts, lengths, strict=True)
    }


def common_positions(own: AttentionMap, other: AttentionMap) -> TokenPositions:
    """Return the positions of the difference of two maps, which has the words of both."""
    return {axis: [here for here, _ in pairs] for axis, pairs in zip(AXES, common_axes(own, other), strict=True)}


@dataclass(frozen=True)
class Selection:
    """Selected words of an explained sentence, for drawings of other words too."""

    explanation: Explanation
    kind: Kind
    tokens: TokenView
    names: Sequence[str]  # of the words, see `selected_names`

    def drawing_options(self, positions: TokenPositions) -> dict[str, Any]:
        """Return a drawing's options `links` and `place` for other words; ones the sentence lacks link to none."""
        own = links(self.explanation, self.kind, self.tokens)
        names: dict[Axis, list[str]] = {
            axis: ["" if here is None else own[axis][here] for here in positions[axis]] for axis in AXES
        }
        return {"links": names, "place": highlighted(self.names, names)}
