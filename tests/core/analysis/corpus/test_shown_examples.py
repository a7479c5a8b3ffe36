"""Which examples prove what a head does with words."""

import pytest

from core.analysis.corpus.index import PLACES, CorpusIndex
from core.analysis.corpus.shown_examples import Mark, MarkedText, ShownExample, head_examples, strongest_examples
from core.trace import Head
from core.translator import Translator

TOKENS = ("\u2581In", "\u25812", "0", "1", "\u2581bu", "ses", "\u2581ran", ".", "</s>")


@pytest.mark.parametrize(
    ("query", "key", "is_of_words"), [(6, 4, True), (2, 1, False), (5, 4, False), (7, 6, False), (6, 8, False)]
)
def test_letters_of_two_words_and_not_digits_pieces_or_marks_prove_a_head(
    query: int, key: int, is_of_words: bool
) -> None:
    marks: list[Mark] = ["query" if place == query else "key" if place == key else "" for place in range(len(TOKENS))]
    text = MarkedText(tokens=TOKENS, marks=marks)
    shown = ShownExample(texts=[text], value=1.0, line=1, query=TOKENS[query], key=TOKENS[key])
    assert shown.of_words == is_of_words


@pytest.mark.parametrize("head", [Head("encoder_self", 0, 1), Head("cross", 1, 2)], ids=str)
def test_pairs_of_words_come_first_and_each_part_is_ordered_by_strength(
    translator: Translator, index: CorpusIndex, head: Head
) -> None:
    for place in PLACES:
        own, found = index.head_examples(head, place), strongest_examples(translator, index, head, place)
        shown = head_examples(translator, head, found)
        assert len(found) == len(own)
        assert [(not each.of_words, -each.value) for each in shown] == sorted(
            (not each.of_words, -each.value) for each in shown
        )
        added = [each for each in found if each not in own]
        assert all(each.strength >= own[0].strength / 2 for each in added)
