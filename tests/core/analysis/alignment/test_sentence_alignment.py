import pytest
import torch

from core.analysis.alignment import sentence_alignment
from core.analysis.alignment.aligners import head_error_rates
from core.analysis.alignment.pharaoh import GoldLinks
from core.capture import AttentionMap

SOURCE = ("\u2581A", "\u2581d", "og", ".", "</s>")
TARGET = ("\u2581Ein", "\u2581H", "und", ".", "</s>")


def cross(weights: torch.Tensor, layer: int = 0) -> AttentionMap:
    return AttentionMap("cross", layer, weights, ("<s>", *TARGET[:-1]), SOURCE, TARGET)


@pytest.fixture
def layers() -> list[AttentionMap]:
    """Head 0 of layer 0 attends to the word it predicts next, head 1 to the word fed; layer 1 to `</s>` only."""
    aligned = torch.tensor([[1.0, 0, 0, 0, 0], [0, 0.5, 0.5, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 1]])
    late = torch.cat((aligned[-1:], aligned[:-1]))
    sink = torch.zeros(2, 5, 5)
    sink[..., -1] = 1
    return [cross(torch.stack((aligned, late))), cross(sink, 1)]


def test_words_are_those_that_are_shown():
    assert sentence_alignment.shown_words(SOURCE) == ("A", "dog", ".")
    assert sentence_alignment.word_shares([0.5, 0.2, 0.4, 1, 0], TARGET) == pytest.approx((0.5, 0.3, 1))


def test_places_are_named_as_aligners_are(layers: list[AttentionMap]):
    names = [sentence_alignment.aligner_name(place) for place in sentence_alignment.all_aligners(layers)]
    assert names == ["L1 H1", "L1 H2", "L1 mean", "L2 H1", "L2 H2", "L2 mean", "mean"]
    gold = GoldLinks(frozenset({(0, 0)}), frozenset())
    assert {str(aligner) for aligner in sentence_alignment.rank_sentence(layers, gold)} == set(names)


def test_a_head_aligns_in_the_rows_that_suit_it(layers: list[AttentionMap]):
    diagonal = {(0, 0), (1, 1), (2, 2)}
    alignment = sentence_alignment.align_words(layers, (0, 0), "predicted")
    assert alignment.links == diagonal
    assert alignment.coverage == pytest.approx((1, 1, 1))
    assert alignment.concerns() == []
    assert sentence_alignment.align_words(layers, (0, 1), "fed").links == diagonal
    rates = head_error_rates(sentence_alignment.rank_sentence(layers, GoldLinks(frozenset(diagonal), frozenset())))
    assert [rates["cross", 0, 0], rates["cross", 0, 1], rates["cross", 1, 0]] == [0, 0, 1]  # type: ignore[index]


def test_the_weights_behind_it_are_between_tokens_in_rows_that_sum_to_1(layers: list[AttentionMap]):
    assert torch.equal(sentence_alignment.token_weights(layers, (0, 0)), layers[0].weights[0])
    halved = [cross(layers[0].weights / 2)]  # as where the rest of a row is the prefix's
    assert torch.equal(sentence_alignment.token_weights(halved, (0, None)), layers[0].weights.mean(0))
    with pytest.raises(ValueError, match="there is no layer 2, head 0 among 2 layers of 2 heads"):
        sentence_alignment.token_weights(layers, (2, 0))


def test_means_are_over_heads_and_over_layers(layers: list[AttentionMap]):
    heads = [sentence_alignment.align_words(layers, (0, head)).weights for head in range(2)]
    assert torch.equal(sentence_alignment.align_words(layers, (0, None)).weights, (heads[0] + heads[1]) / 2)
    assert torch.equal(sentence_alignment.align_words(layers, (None, None)).weights, (heads[0] + heads[1]) / 4)
    with pytest.raises(ValueError, match="there is no layer 0, head 2 among 2 layers of 2 heads"):
        sentence_alignment.align_words(layers, (0, 2))


@pytest.mark.parametrize(
    ("weights", "concern"),
    [
        ([[0.1, 0.1, 0.1], [0.0, 0.2, 0.0], [0.1, 0.0, 0.0]], "Only 20% of the weight is on source words"),
        ([[0.9, 0.1, 0.0], [0.8, 0.2, 0.0], [0.9, 0.0, 0.1]], "\u201cA\u201d has 87% of all weight"),
        ([[0.5, 0.1, 0.4], [0.5, 0.0, 0.5], [0.4, 0.0, 0.6]], None),  # a word is left out
    ],
)
def test_concerns_about_an_alignment(weights: list[list[float]], concern: str | None):
    concerns = sentence_alignment.WordAlignment(
        ("A", "dog", "."), ("Ein", "Hund", "."), torch.tensor(weights)
    ).concerns()
    assert len(concerns) == (concern is not None)
    assert concern is None or concern in concerns[0]


def test_of_many_words_that_were_left_out_some_are_named():
    weights = torch.zeros(2, 10)
    weights[:, :2] = 0.5
    note = sentence_alignment.WordAlignment(tuple("abcdefghij"), ("x", "y"), weights).left_out_note()
    assert note.startswith("Little attention: \u201cc\u201d (0.00), ")
    assert "\u201ch\u201d (0.00) and 2 more." in note


def test_punctuation_is_not_named_as_left_out():
    weights = torch.tensor([[0.5, 0.4, 0.1], [0.5, 0.5, 0.0], [0.4, 0.6, 0.0]])
    assert sentence_alignment.WordAlignment(("A", "dog", "."), ("Ein", "Hund", "."), weights).left_out_note() is None


def test_a_translation_without_words_has_no_links_and_no_concerns():
    empty = AttentionMap("cross", 0, torch.ones(1, 1, 5) / 5, ("<s>",), SOURCE, ("</s>",))
    alignment = sentence_alignment.align_words([empty], (None, None))
    assert (alignment.target, alignment.links, alignment.concerns()) == ((), frozenset(), [])


def test_the_tables_have_the_weights_and_links() -> None:
    alignment = sentence_alignment.WordAlignment(
        ("A", "dog"), ("Ein", "Hund", "."), torch.tensor([[0.75, 0.25], [0.0, 0.5], [0.0, 0.0]])
    )
    table = alignment.table(GoldLinks(frozenset({(0, 0)}), frozenset({(1, 0)})))
    assert table["weight"] == [0.75, 0.25, 0.0, 0.5, 0.0, 0.0]
    assert table["link"] == [True, False, False, True, False, False]
    assert table["gold"] == ["sure", "possible", "", "", "", ""]
    targets = alignment.target_table((0.5, 0.25, 1))
    assert (targets["looks_at"], targets["from_prefix"]) == (["A", "dog", ""], [0.5, 0.75, 0])
    assert "from_source" not in alignment.target_table(())
    sources = alignment.source_table()
    assert (sources["linked_to"], sources["coverage"]) == (["Ein", "Hund"], (0.75, 0.75))
