"""Which word of the sentence or of its translation each row and column of a map belongs to."""

from core import Explanation
from core.analysis.tokens.words import axis_groups, word_groups
from core.capture import Kind
from viz_app.components.highlight import Axis
from viz_app.components.sentence_bar import Side


def links(explanation: Explanation, kind: Kind, words: bool, hide_special: bool) -> dict[Axis, list[str]]:
    """Which word of the sentence each row and column of a map belongs to, as the sentence bar names it: `target 3`, or
    nothing for `<s>`.

    Args:
        words, hide_special: what was done to the map, as for `axis_groups`.
    """
    named: dict[Axis, list[str]] = {}
    for axis, groups in positions(explanation, kind, words, hide_special).items():
        side, shift = _sentence_of(axis, kind)
        tokens = explanation.source_tokens if side == "source" else explanation.predicted_tokens
        starts = {position: group.start for group in word_groups(tokens) for position in group}
        named[axis] = [
            f"{side} {starts[group.start - shift]}" if group.start - shift in starts else "" for group in groups
        ]
    return named


def positions(explanation: Explanation, kind: Kind, words: bool, hide_special: bool) -> dict[Axis, list[range]]:
    """The tokens that stand behind each row and column of a map, as for `links`."""
    rows = explanation.source_tokens if kind == "encoder_self" else explanation.predicted_tokens
    keys = explanation.fed_tokens if kind == "decoder_self" else explanation.source_tokens
    return {"query": axis_groups(rows, words, hide_special), "key": axis_groups(keys, words, hide_special)}


def _sentence_of(axis: Axis, kind: Kind) -> tuple[Side, int]:
    """Which sentence an axis is about, and how many positions later a token of it stands on the axis: what was put
    out is fed one later.
    """
    if kind == "encoder_self" or (kind == "cross" and axis == "key"):
        return "source", 0
    return "target", 1 if axis == "key" else 0
