"""Penn Treebank tokenization."""

import pytest

from core.parsing.treebank_words import treebank_words

CASES = [
    ("The dog runs.", "The dog runs ."),
    ('He said, "It\'s (not) here."', "He said , `` It 's -LRB- not -RRB- here . ''"),
    ("\u201cI can\u2019t,\u201d she said\u2026", "`` I ca n't , '' she said ..."),
    ("Mr. Smith paid $1,000 at 10:30 -- or 5%!", "Mr. Smith paid $ 1,000 at 10:30 -- or 5 % !"),
    ("U.S. firms cannot see the dogs' toys; why?", "U.S. firms can not see the dogs ' toys ; why ?"),
    ("They're gonna say: we'll see", "They 're gon na say : we 'll see"),
    ("a\u2581b\n\tc", "a b c"),
]


@pytest.mark.parametrize(("text", "words"), CASES)
def test_cuts_as_the_treebank_does(text: str, words: str) -> None:
    assert treebank_words(text) == words.split()


@pytest.mark.parametrize("text", [words for _, words in CASES])
def test_leaves_what_is_cut_already(text: str) -> None:
    assert treebank_words(text) == text.split()


def test_a_byte_order_mark_is_no_word() -> None:
    assert treebank_words("\ufeff\u201cYes.\u201d") == treebank_words("\u201cYes.\u201d")


def test_no_bracket_is_left_that_a_tree_could_not_hold() -> None:
    assert not {"(", ")"} & set("".join(treebank_words("f(x) :( ((a)b) x)y")))
    assert treebank_words(" \n ") == []
