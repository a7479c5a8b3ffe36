"""Scores computed by hand by the rules of EVALB's COLLINS.prm."""

import pytest

from core.parsing.trees import Tree, read_trees
from tests.lazy_imports import parseval as scores

GOLD = "(S (NP (DT The) (NN dog)) (VP (VBZ sees) (NP (NP (DT a) (NN cat)) (PP (IN in) (NP (DT the) (NN sea))))) (. .))"


def trees(*texts: str) -> list[Tree]:
    return [tree for text in texts for tree in read_trees(text)]


def percent(gold: str, found: str) -> tuple[float, float, float, float]:
    score = scores.parseval(trees(gold), trees(found))
    return score.precision, score.recall, score.f1, score.exact


def test_a_tree_that_hangs_a_phrase_elsewhere() -> None:
    """S, NP The dog, VP, NP a cat, PP and NP the sea are correct; the gold tree also has NP a cat in the sea."""
    found = "(S (NP (XX The) (XX dog)) (VP (XX sees) (NP (XX a) (XX cat)) (PP (XX in) (NP (XX the) (XX sea)))) (XX .))"
    assert percent(GOLD, found) == pytest.approx((100, 600 / 7, 1200 / 13, 0))


def test_brackets_are_counted_over_all_sentences() -> None:
    """2 of 2 brackets are correct, then 1 of 2, where the gold tree has 1: precision 3/4, recall 3/3."""
    score = scores.parseval(
        trees("(S (NP (NN sea)))", "(NP (DT the) (NN sea))"), trees("(S (NP (XX sea)))", "(NP (XX the) (NP (XX sea)))")
    )
    assert (score.precision, score.recall, score.f1, score.exact) == pytest.approx((75, 100, 600 / 7, 50))


@pytest.mark.parametrize(
    ("gold", "found"),
    [
        (GOLD, GOLD),
        ("(TOP (S (NP (NN sea)) (VP (VBZ is))))", "(S (NP (XX sea)) (VP (XX is)))"),  # TOP does not count
        # nor punctuation
        ("(S (NP (NN sea)) (, ,) (VP (VBZ is)) (. .))", "(S (NP (XX sea) (XX ,)) (VP (XX is) (XX .)))"),
        # nor constituents of punctuation only
        ("(S (`` ``) (NP (NN sea)) ('' '') (: --))", "(S (NP (XX ``) (XX sea)) (PRN (XX '') (XX --)))"),
        ("(VP (VB go) (PRT (RP on)))", "(VP (XX go) (ADVP (XX on)))"),  # PRT is ADVP
        ("(NP (NP (NN sea_x)) (POS 's))", "(NP (NP (XX sea_x)) (XX 's))"),  # PYEVALB splits words at underscores
    ],
)
def test_equivalent_trees(gold: str, found: str) -> None:
    assert percent(gold, found) == (100, 100, 100, 100)


def test_different_trees() -> None:
    # words may be brackets
    assert percent("(S (NP (-LRB- -LRB-) (NN sea)))", "(S (XX -LRB-) (NP (XX sea)))") == (50, 50, 50, 0)
    # two brackets of one label count twice
    assert percent("(NP (NP (NN sea)))", "(NP (XX sea))") == pytest.approx((100, 50, 200 / 3, 0))
    assert percent("(NP (NN sea))", "(VP (XX sea))") == (0, 0, 0, 0)


def test_a_sentence_of_nothing_but_punctuation_does_not_count() -> None:
    score = scores.parseval(trees("(FRAG (: ...))", "(NP (NN sea))"), trees("(S (XX ...))", "(NP (XX sea))"))
    assert (score.f1, score.exact) == (100, 100)
    with pytest.raises(ValueError, match="there is nothing to score"):
        scores.parseval(trees("(FRAG (: ...))"), trees("(S (XX ...))"))


def test_other_words_are_no_tree_of_the_sentence() -> None:
    with pytest.raises(ValueError, match="tree 1 has the words the sun, expected the sea"):
        scores.parseval(trees("(NP (DT the) (NN sea))"), trees("(NP (XX the) (XX sun))"))
    with pytest.raises(ValueError, match="there are 0 predicted trees for 1 gold trees"):
        scores.parseval(trees("(NP (NN sea))"), [])
