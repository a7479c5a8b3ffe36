"""Words of the sentence bar behind each row and column of a map."""

from core import Explanation
from core.analysis.tokens.words import axis_groups, word_groups
from core.capture import Kind
from viz_app.components.highlight import Axis
from viz_app.components.sentence_bar import Side


def links(explanation: Explanation, kind: Kind, words: bool, hide_special: bool) -> dict[Axis, list[str]]:
    """Return the name of the word that each row and column of a map belongs to.

    Args:
        words, hide_special: How the map was transformed, as for `axis_groups`.

    Returns:
        Names as in the sentence bar, such as `target 3`; "" for `<s>`.
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
    """Return the positions of the tokens behind each row and column of a map."""
    rows = explanation.source_tokens if kind == "encoder_self" else explanation.predicted_tokens
    keys = explanation.fed_tokens if kind == "decoder_self" else explanation.source_tokens
    return {"query": axis_groups(rows, words, hide_special), "key": axis_groups(keys, words, hide_special)}


def _sentence_of(axis: Axis, kind: Kind) -> tuple[Side, int]:
    """Return the sentence that an axis shows, and the shift of its tokens.

    Output tokens are fed to the decoder one position later.
    """
    if kind == "encoder_self" or (kind == "cross" and axis == "key"):
        return "source", 0
    return "target", 1 if axis == "key" else 0
