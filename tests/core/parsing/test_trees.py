"""Bracketed and linearised trees: round trips, and errors for malformed input."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.parsing.trees import Constituent, Tree, constituents, linearise, read_trees, restore, spell, treebank_words

SENTENCE = "(S (NP (PRP It)) (VP (VBZ likes) (NP (DT the) (NN sea))) (. .))"


def leaf(word: str, tag: str = "XX") -> Tree:
    return Tree(tag, word=word)


leaves = st.builds(leaf, st.sampled_from(["dog", "'s", "-LRB-", "%"]), st.sampled_from(["NN", "XX", "."]))


def constituent(label: str, children: list[Tree]) -> Tree:
    return Tree(label, tuple(children))


labels = st.sampled_from(["S", "NP"])
nodes = st.recursive(
    leaves, lambda parts: st.builds(constituent, labels, st.lists(parts, min_size=1, max_size=3)), max_leaves=8
)
trees = st.builds(constituent, labels, st.lists(nodes, min_size=1, max_size=3))


def test_reads_what_is_spread_over_lines() -> None:
    (tree,) = read_trees("( (S\n   (NP-SBJ (PRP It))\n (VP (VBZ rains))))")
    assert tree.label == ""
    assert tree.words() == ["It", "rains"]
    assert tree.children[0].children[0] == Tree("NP-SBJ", (leaf("It", "PRP"),))


def test_reads_several_trees() -> None:
    assert [tree.words() for tree in read_trees("(NP (NN sea))\n(NP (DT the) (NN sun))")] == [["sea"], ["the", "sun"]]


@settings(max_examples=40)
@given(trees)
def test_writes_what_it_reads(tree: Tree) -> None:
    assert list(read_trees(str(tree))) == [tree]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(S (NP (NN sea))", "tree 1 is cut off: 1 of its brackets are not closed"),
        ("(NP (NN sea)) )", "tree 2 begins with '\\)'"),
        ("sea", "tree 1 begins with 'sea'"),
        ("(NP (NN the sea))", "tree 1: NN contains the sea: expected one word, or constituents"),
        ("(S (NP (NN sea) sun))", "tree 1: NP contains \\(NN sea\\) sun"),
        ("(S ())", "tree 1: a bracket without a label contains nothing"),
    ],
)
def test_names_what_is_no_tree(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        list(read_trees(text))


def test_the_sequence_of_a_tree_and_the_spans_of_its_constituents() -> None:
    (tree,) = read_trees(SENTENCE)
    assert " ".join(linearise(tree)) == "(S (NP XX )NP (VP XX (NP XX XX )NP )VP XX )S"
    assert " ".join(linearise(tree, "tags")) == "(S (NP XX/PRP )NP (VP XX/VBZ (NP XX/DT XX/NN )NP )VP XX/. )S"
    assert " ".join(linearise(tree, "words")) == "(S (NP /PRP )NP (VP /VBZ (NP /DT /NN )NP )VP /. )S"
    text = "{} (S (NP /PRP {} )NP (VP /VBZ {} (NP /DT {} /NN {} )NP )VP /. )S"
    assert " ".join(spell(tree)) == text.format(*tree.words())
    assert constituents(tree) == [
        Constituent("S", depth=0, start=0, end=5, opened=0, closed=12),
        Constituent("NP", depth=1, start=0, end=1, opened=1, closed=3),
        Constituent("VP", depth=1, start=1, end=4, opened=4, closed=10),
        Constituent("NP", depth=2, start=2, end=4, opened=6, closed=9),
    ]


@settings(max_examples=40)
@given(trees)
def test_a_sequence_and_its_words_are_the_tree_without_tags(tree: Tree) -> None:
    restored = restore(linearise(tree), tree.words())
    assert linearise(restored) == linearise(tree)
    assert restored.words() == tree.words()
    assert {leaf.label for leaf in restored.leaves()} == {"XX"}
    assert restore(linearise(tree, "tags"), tree.words()) == tree
    assert restore(linearise(tree, "words"), tree.words()) == tree


@pytest.mark.parametrize(
    ("symbols", "message"),
    [
        ("(S XX XX XX )S", "more words than the 2"),
        ("(S XX )S", "1 words left"),
        ("(S XX XX", "1 open brackets"),
        ("(S XX )NP XX )S", "symbol 3 of the sequence is '\\)NP'"),
        ("(S (NP )NP XX XX )S", "symbol 3"),
        (")S", "symbol 1"),
        ("(S XX )S (S XX )S", "expected one whole tree"),
    ],
)
def test_names_what_is_no_sequence_of_a_tree(symbols: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        restore(symbols.split(), ["the", "sea"])


@settings(max_examples=40)
@given(trees)
def test_constituents_stand_where_the_sequence_has_their_brackets(tree: Tree) -> None:
    symbols = linearise(tree)
    for found in constituents(tree):
        assert symbols[found.opened] == f"({found.label}"
        assert symbols[found.closed] == f"){found.label}"
        assert symbols[found.opened : found.closed].count("XX") == found.end - found.start
        assert symbols[: found.opened].count("XX") == found.start


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The dog runs.", "The dog runs ."),
        ('He said, "It\'s (not) here."', "He said , `` It 's -LRB- not -RRB- here . ''"),
        ("\u201cI can\u2019t,\u201d she said\u2026", "`` I ca n't , '' she said ..."),
        ("Mr. Smith paid $1,000 at 10:30 -- or 5%!", "Mr. Smith paid $ 1,000 at 10:30 -- or 5 % !"),
        ("U.S. firms cannot see the dogs' toys; why?", "U.S. firms can not see the dogs ' toys ; why ?"),
        ("They're gonna say: we'll see", "They 're gon na say : we 'll see"),
        ("a\u2581b\n\tc", "a b c"),
    ],
)
def test_cuts_as_the_treebank_does_and_leaves_what_is_cut_already(text: str, words: str) -> None:
    assert treebank_words(text) == treebank_words(words) == words.split()


def test_a_byte_order_mark_is_no_word() -> None:
    assert treebank_words("\ufeff\u201cYes.\u201d") == treebank_words("\u201cYes.\u201d")


def test_no_bracket_is_left_that_a_tree_could_not_hold() -> None:
    assert not {"(", ")"} & set("".join(treebank_words("f(x) :( ((a)b) x)y")))
    assert treebank_words(" \n ") == []
