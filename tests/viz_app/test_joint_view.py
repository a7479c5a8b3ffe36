"""Where the words of both sentences stand in the joint matrix."""

import pytest

from core import Explanation, Translator
from core.analysis.joint import JointMap, joint_map
from core.analysis.words import merge_words, without_special_tokens, word_groups
from core.capture import KINDS
from core.model import Transformer
from core.tokenizer import SentencePieceTokenizer
from viz_app import joint_view


@pytest.fixture(scope="module")
def explanation(tiny_model: Transformer, tokenizer: SentencePieceTokenizer) -> Explanation:
    return Translator(tiny_model, tokenizer).explain("The dog is reading.", "Der Hund liest gestern ein Buch.")


def matrix(explanation: Explanation, plain: bool) -> JointMap:
    """With whole words and without special tokens, or with all tokens as they are."""
    maps = explanation.maps
    if not plain:
        maps = {kind: [without_special_tokens(merge_words(each)) for each in maps[kind]] for kind in KINDS}
    return joint_map(maps, 0, 0)


@pytest.mark.parametrize("plain", [False, True])
def test_a_word_stands_in_the_row_and_the_column_that_a_click_selects_it_from(explanation: Explanation, plain: bool) -> None:
    joint, how = matrix(explanation, plain), (explanation, not plain, not plain)
    assert joint_view.place(None, joint, *how) == (None, None)
    for side, tokens in (("source", explanation.source_tokens), ("target", explanation.predicted_tokens)):
        for group in word_groups(tokens):
            query, key = joint_view.place((side, group), joint, *how)  # type: ignore[arg-type]
            assert plain or (query is None) == (tokens[group.start] == "</s>")
            for axis, index in (("query", query), ("key", key)):
                if index is not None:
                    assert joint_view.word_at(axis, index, joint, *how) == (side, group)  # type: ignore[arg-type]


@pytest.mark.parametrize("plain", [False, True])
def test_rows_and_columns_are_linked_to_the_words_that_a_click_on_them_selects(explanation: Explanation, plain: bool) -> None:
    joint, how = matrix(explanation, plain), (explanation, not plain, not plain)
    linked = joint_view.links(*how)
    assert (len(linked["query"]), len(linked["key"])) == joint.weights.shape
    for axis, names in linked.items():
        found = [joint_view.word_at(axis, index, joint, *how) for index in range(len(names))]
        assert names == [f"{word[0]} {word[1].start}" if word else "" for word in found]
