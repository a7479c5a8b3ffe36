"""One selection in several drawings, whose words stand at other places in each."""

from itertools import permutations

import torch

from core import Translator
from core.analysis.heads.word_pair import PlacedWord, word_pair
from core.analysis.tokens.words import word_groups
from core.capture import AttentionMap
from viz_app.components.sentence_bar import word_name
from viz_app.session.readings import TokenView
from viz_app.session.word_selection import (
    Selection,
    attending_first,
    common_positions,
    highlighted,
    other_positions,
    own_positions,
)


def cross(keys: str, predicted: str) -> AttentionMap:
    return AttentionMap(
        "cross", 0, torch.ones(1, len(predicted), len(keys)), ("<s>", *predicted[:-1]), tuple(keys), tuple(predicted)
    )


def test_where_the_words_of_one_drawing_stand_in_another() -> None:
    own, other = cross("abc", "xyz"), cross("ac", "wxz")
    assert {axis: list(at) for axis, at in own_positions(own).items()} == {"query": [0, 1, 2], "key": [0, 1, 2]}
    assert other_positions(own, other) == {"query": [None, 0, 2], "key": [0, 2]}
    assert common_positions(own, other) == {"query": [0, 2], "key": [0, 2]}


def test_a_word_is_selected_in_every_drawing_that_has_it(translator: Translator) -> None:
    tokens = TokenView(words=True, hide_special=True)
    explanations = [translator.explain(text, "Ein Hund.") for text in ("A dog runs.", "A wet dog runs.")]
    own, other = (tokens.apply(explanation.maps["encoder_self"][0]) for explanation in explanations)
    positions = other_positions(own, other)
    assert positions == {"query": [0, None, 1, 2, 3], "key": [0, None, 1, 2, 3]}

    def selection(*names: str) -> Selection:
        return Selection(explanations[0], "encoder_self", tokens, names)

    links = selection().drawing_options(positions)["links"]
    assert links["key"][1] == ""  # "wet", which the first sentence lacks
    assert links["key"][2] == selection().drawing_options(own_positions(own))["links"]["key"][1]
    dog, a = links["key"][2], links["query"][0]
    assert selection(dog).drawing_options(own_positions(own))["place"] == {"query": [1], "key": [1]}
    assert selection(dog).drawing_options(positions)["place"] == {"query": [2], "key": [2]}
    assert selection(dog, a).drawing_options(positions)["place"] == {"query": [2], "key": [0]}
    assert selection(a, dog).drawing_options(positions)["place"] == {"query": [0], "key": [2]}
    assert selection().drawing_options(positions)["place"] == {"query": [], "key": []}


def test_of_two_words_the_one_that_attends_is_the_same_as_in_the_answer(translator: Translator) -> None:
    explanation = translator.explain("A dog runs.", "Ein Hund.")
    source: list[PlacedWord] = [("source", group) for group in word_groups(explanation.source_tokens)]
    target: list[PlacedWord] = [("target", group) for group in word_groups(explanation.predicted_tokens)]
    for one, other in permutations(source + target, 2):
        pair = word_pair(explanation, one, other)
        assert pair is not None
        assert attending_first(word_name(one), word_name(other)) == (word_name(pair.query), word_name(pair.key))


def test_three_words_are_rows_and_columns() -> None:
    names = ["source 0", "source 1", "source 2", "source 3"]
    found = highlighted(names[:3], {"query": names, "key": names})
    assert found == {"query": [0, 1, 2], "key": [0, 1, 2]}
