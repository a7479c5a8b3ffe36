import math

import pytest
import torch

from core.analysis.alignment.aligners import (
    AlignerRanking,
    AlignmentScore,
    argmax_links,
    head_error_rates,
    rank_aligners,
    score_links,
    word_attention,
    words_as_shown,
)
from core.analysis.alignment.pharaoh import GoldLinks, GoldPair, parse_links
from core.analysis.attribution.methods import METHODS
from core.capture import AttentionMap
from core.trace import Head
from core.translator import Translator

SOURCE_TOKENS, TARGET_TOKENS = ("▁the", "▁do", "g", "</s>"), ("▁der", "▁Hu", "nd")


def cross(*heads: list[list[float]], layer: int = 0) -> AttentionMap:
    """Four rows: the one that predicts `der`, the ones fed `der`, `Hu` and `nd`."""
    return AttentionMap(
        "cross", layer, torch.tensor(heads), ("<s>", *TARGET_TOKENS), SOURCE_TOKENS, (*TARGET_TOKENS, "</s>")
    )


HEAD = [[0.6, 0.1, 0.1, 0.2], [0.2, 0.3, 0.4, 0.1], [0.4, 0.0, 0.2, 0.4], [0.0, 0.0, 0.0, 1.0]]


def test_words_as_they_are_shown():
    tokens = ("<s>", "▁a", "b", ",", "▁c", ".", "</s>")
    numbers = [[], [0], [0], [1], [2], [3], []]
    assert words_as_shown(tokens).equal(torch.tensor([[float(word in each) for word in range(4)] for each in numbers]))
    layer = AttentionMap("cross", 0, torch.eye(6, 7)[None], tokens[:-1], tokens, tokens[1:])
    assert word_attention(layer).shape == (1, 4, 4)


def test_pieces_to_words_by_hand():
    """Summed over `do` and `g`; averaged over the rows of `Hu` and `nd`: 1 and 2 if predicted, 2 and 3 if fed."""
    assert torch.allclose(word_attention(cross(HEAD), "predicted"), torch.tensor([[[0.6, 0.2], [0.3, 0.45]]]))
    assert torch.allclose(word_attention(cross(HEAD), "fed"), torch.tensor([[[0.2, 0.7], [0.2, 0.1]]]))


def test_argmax_links():
    assert argmax_links(torch.tensor([[0.6, 0.2], [0.3, 0.45]])) == {(0, 0), (1, 1)}
    assert argmax_links(torch.tensor([[0.0, 0.0], [0.0, 0.1]])) == {(1, 1)}
    assert argmax_links(torch.zeros(2, 0)) == frozenset()


def test_error_rate_by_hand():
    """A = {00 11 21}, S = {00 12}, P = S and {11}: |A and S| = 1, |A and P| = 2, so 1 - 3 / 5."""
    score = score_links(frozenset({(0, 0), (1, 1), (2, 1)}), parse_links("0-0 1-2 1?1"))
    assert score == AlignmentScore(1, 2, 3, 2)
    assert score.error_rate == pytest.approx(0.4)
    assert score.precision == pytest.approx(2 / 3)
    assert score.recall == pytest.approx(1 / 2)


def test_error_rate_at_its_ends():
    gold = parse_links("0-0 1-1")
    assert score_links(gold.sure, gold).error_rate == 0
    assert score_links(frozenset({(0, 1)}), gold).error_rate == 1
    assert AlignmentScore().error_rate == 0
    assert math.isnan(AlignmentScore().precision)
    assert math.isnan(AlignmentScore().recall)


def test_with_sure_links_only_it_is_one_minus_f1():
    score = score_links(frozenset({(0, 0), (1, 1), (3, 2)}), parse_links("0-0 1-1 2-2 3-3"))
    f1 = 2 * score.precision * score.recall / (score.precision + score.recall)
    assert score.error_rate == pytest.approx(1 - f1)


def test_every_head_and_mean_is_ranked_in_both_conventions():
    wrong = [[0.0, 0.5, 0.5, 0.0], [1.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]]
    ranking = AlignerRanking()
    ranking.add([cross(HEAD, wrong), cross(wrong, layer=1)], parse_links("0-0 1-1"))
    aligners = ranking.aligners()
    assert len(aligners) == 2 * (2 + 1 + 1 + 1)  # the second layer's one head is all there is of it
    best, *_, worst = aligners
    assert (best.layer, best.head, best.rows, best.score.error_rate) == (0, 0, "predicted", 0.0)
    assert worst.score.error_rate == 1.0
    assert {str(aligner) for aligner in aligners} == {"L1 H1", "L1 H2", "L1 mean", "L2 mean", "mean"}
    rates = head_error_rates(aligners)
    assert rates.keys() == {Head("cross", 0, 0), Head("cross", 0, 1), Head("cross", 1, 0)}
    assert rates["cross", 0, 0] == 0


def test_sentences_add_up():
    ranking = AlignerRanking()
    for line in ("0-0 1-1", "1-0"):
        ranking.add([cross(HEAD)], parse_links(line))
    score = next(found.score for found in ranking.aligners() if found.layer == 0 and found.rows == "predicted")
    assert score == AlignmentScore(2, 2, 2, 2) + AlignmentScore(0, 0, 2, 1)


@pytest.mark.parametrize("method", METHODS)
def test_any_method_aligns(translator: Translator, method: str):
    pairs = [GoldPair("A dog  runs .", "Ein Hund läuft .", parse_links("0-0 1-1 2-2 3-3"))]
    found = rank_aligners(
        translator, pairs, lambda translator, source, target: METHODS[method](translator, source, target)["cross"]
    )
    assert len(found) == 2 * (3 * (5 if method in ("attention", "norms", "gradient") else 1) + 1)
    assert all(0 <= aligner.score.error_rate <= 1 for aligner in found)
    assert all(aligner.score.sure == 4 for aligner in found)


def test_only_cross_attention_aligns():
    encoder = AttentionMap("encoder_self", 0, torch.ones(1, 1, 1), ("▁a",), ("▁a",))
    with pytest.raises(ValueError, match="words are aligned by cross-attention, found encoder_self"):
        word_attention(encoder)


def test_gold_links_past_the_words():
    with pytest.raises(ValueError, match="the link 5-0 is out of range: there are 2 source and 2 target words"):
        AlignerRanking().add([cross(HEAD)], GoldLinks(frozenset({(5, 0)}), frozenset()))
