"""One selection of words in all drawings: a word is pointed at and selected in all that have it, though it may stand
elsewhere in each.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.analysis.comparison import common_axes
from core.capture import AttentionMap, Kind
from viz_app.components import word_links
from viz_app.components.attention_lines import AXES, Axis, Links
from viz_app.components.sentence_bar import word_name
from viz_app.session import readings

# of each row and key of a drawing: where the same word stands in the reading's own map
TokenPositions = Mapping[Axis, Sequence[int | None]]


def selected_names(about: readings.Reading) -> set[str]:
    """The selected words, as `choice.links` names them."""
    return {word_name(word) for word in readings.selected_words(about)}


def place(names: Collection[str], links: Links) -> dict[Axis, list[int]]:
    """The rows and columns of a drawing that belong to words of these names."""
    return {axis: [index for index, name in enumerate(links[axis]) if name in names] for axis in AXES}


def look(about: readings.Reading, links: Links) -> dict[str, Any]:
    """How a drawing of a sentence's words is to show the selection: `links` and `place`, as `attention_map` takes
    them.
    """
    return {"links": links, "place": place(selected_names(about), links)}


def own_positions(own: AttentionMap) -> TokenPositions:
    """Of the reading's map itself."""
    return {"query": range(len(own.query_tokens)), "key": range(len(own.key_tokens))}


def other_positions(own: AttentionMap, other: AttentionMap) -> TokenPositions:
    """Of another map of the same kind; None for the words that only it has."""
    found = [{there: here for here, there in pairs} for pairs in common_axes(own, other)]
    lengths = len(other.query_tokens), len(other.key_tokens)
    return {
        axis: [here.get(there) for there in range(length)]
        for axis, here, length in zip(AXES, found, lengths, strict=True)
    }


def common_positions(own: AttentionMap, other: AttentionMap) -> TokenPositions:
    """Of their difference, which has the words of both."""
    return {axis: [here for here, _ in pairs] for axis, pairs in zip(AXES, common_axes(own, other), strict=True)}


@dataclass(frozen=True)
class Selection:
    """That of the words of what is read, in drawings of other words too.

    Attributes:
        words, hide_special: what was done to the maps, as for `choice.links`.
    """

    reading: readings.Reading
    kind: Kind
    words: bool
    hide_special: bool

    def look(self, positions: TokenPositions) -> dict[str, Any]:
        """How a drawing is to show it, see `look`; words that the reading has not are linked to none."""
        names = word_links.links(self.reading.explanation, self.kind, self.words, self.hide_special)
        return look(
            self.reading,
            {axis: ["" if here is None else names[axis][here] for here in positions[axis]] for axis in AXES},
        )
