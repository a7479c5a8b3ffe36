from dataclasses import replace

import pytest
import torch

from core.analysis.comparison import common_positions, difference, largest_differences, mean_distance, with_head
from core.capture import AttentionMap


def cross(weights: torch.Tensor, keys: str = "abc", predicted: str = "xyz") -> AttentionMap:
    return AttentionMap("cross", 0, weights, ("<s>", *predicted[:-1]), tuple(keys), tuple(predicted))


@pytest.fixture
def first() -> AttentionMap:
    return cross(torch.tensor([[[1.0, 0, 0], [0, 1, 0], [0.5, 0.5, 0]], [[0, 0, 1.0], [0, 0, 1], [0, 0, 1]]]))


def test_common_words_keep_their_order():
    assert common_positions("abcd", "xbcdy") == [(1, 0 + 1), (2, 2), (3, 3)]
    assert common_positions("ab", "ba") in ([(0, 1)], [(1, 0)])
    assert common_positions(["the", "the", "dog"], ["the", "dog"]) == [(1, 0), (2, 1)]
    assert common_positions("abc", "xyz") == []


def test_a_map_minus_itself_is_nothing(first: AttentionMap):
    found = difference(first, first)
    assert found.is_whole
    assert not found.map.weights.any()
    assert mean_distance(found) == [0, 0]
    assert largest_differences(found, 0) == []


def test_the_difference_is_signed_and_heads_are_compared_by_number_or_one_with_each(first: AttentionMap):
    other = replace(first, weights=first.weights.flip(0))
    found = difference(first, other)
    assert torch.equal(found.map.weights, first.weights - other.weights)
    assert torch.equal(difference(other, first).map.weights, -found.map.weights)
    assert mean_distance(found) == [1, 1]  # nothing in common
    assert largest_differences(found, 0, 2) == [(0, 0, 1.0), (0, 2, -1.0)]
    assert (
        "\u201c\u00b7a\u201d 1.00 more; \u201c\u00b7x\u201d attends to \u201c\u00b7c\u201d 1.00 less" in found.answer(0)
    )
    assert difference(first, first).answer(0) == "No weight of this head differs by 0.01 or more."
    fewer = replace(first, weights=first.weights[:1], hidden=torch.ones(1, 3))
    assert difference(first, fewer).map.num_heads == 1
    hidden = with_head(fewer, 0, 2).hidden
    assert hidden is not None
    assert torch.equal(hidden, torch.ones(2, 3))
    assert not difference(first, with_head(other, 1, 2)).map.weights[0].any()
    assert torch.equal(difference(first, with_head(other, 0, 2)).map.weights[0], first.weights[0] - first.weights[1])
    with pytest.raises(ValueError, match="head 2 is not one of the 2 of this layer, counted from 0"):
        with_head(other, 2, 2)


def test_words_without_a_counterpart_are_left_out_and_named(first: AttentionMap):
    weights = torch.zeros(2, 4, 2)
    weights[:, 0, 1] = weights[:, 3, 0] = 1
    found = difference(first, cross(weights, "bc", "xwvz"))
    assert found.map.predicted_tokens == ("x", "z")
    assert found.map.key_tokens == ("b", "c")
    assert (found.first_only, found.second_only) == (("y", "a"), ("w", "v"))
    assert not found.is_whole
    assert found.map.weights[0].tolist() == [[0, -1], [-0.5, 0]]


def test_in_self_attention_a_word_is_named_once():
    weights = torch.ones(1, 3, 3) / 3
    one, other = (AttentionMap("encoder_self", 0, weights, tuple(tokens), tuple(tokens)) for tokens in ("abc", "abd"))
    assert difference(one, other).first_only == ("c",)


def test_maps_with_too_few_common_tokens_are_refused(first: AttentionMap):
    with pytest.raises(ValueError, match="of 3 and 3 rows only 0 are the same words in the same order"):
        difference(first, cross(first.weights, predicted="uvw"))
    with pytest.raises(ValueError, match="of 3 and 3 keys only 1 are"):
        difference(first, cross(first.weights, keys="ade"))
    encoder = AttentionMap("encoder_self", 0, first.weights, tuple("abc"), tuple("abc"))
    with pytest.raises(ValueError, match="cross and encoder_self are different kinds"):
        difference(first, encoder)
