"""Positions of the words of both sentences in the joint matrix."""

import pytest

from core import Explanation
from core.analysis.joint_map import JointMap, joint_map
from core.analysis.tokens.words import merge_words, without_special_tokens
from core.capture import KINDS
from viz_app.components.sentence_bar import words_by_name
from viz_app.session.readings import TokenView
from viz_app.views.heads.grid import joint_view


def matrix(explanation: Explanation, plain: bool) -> JointMap:
    """With whole words and without special tokens, or with all tokens as they are."""
    maps = explanation.maps
    if not plain:
        maps = {kind: [without_special_tokens(merge_words(each)) for each in maps[kind]] for kind in KINDS}
    return joint_map(maps, 0, 0)


@pytest.mark.parametrize("plain", [False, True])
def test_rows_and_columns_are_linked_to_words_of_their_own_sentence(explanation: Explanation, plain: bool) -> None:
    joint, known = matrix(explanation, plain), words_by_name(explanation)
    linked = joint_view.links(explanation, TokenView(not plain, not plain))
    assert (len(linked["query"]), len(linked["key"])) == joint.weights.shape
    rows = (*joint.rows[: joint.source_rows], *joint.predicted)
    for names, tokens, divided in (
        (linked["query"], rows, joint.source_rows),
        (linked["key"], joint.columns, joint.source_columns),
    ):
        for index, (name, token) in enumerate(zip(names, tokens, strict=True)):
            assert (name == "") == (token == "<s>")
            if name:
                side, group = known[name]
                assert side == ("source" if index < divided else "target")
                sentence = explanation.source_tokens if side == "source" else explanation.predicted_tokens
                assert str(token).removeprefix("\u2581") in "".join(sentence[group.start : group.stop])
