import math

import numpy as np
import pytest
import torch

from core.analysis.correlation import map_correlation, ranks, spearman
from core.capture import AttentionMap


def causal(weights: list[list[list[float]]]) -> AttentionMap:
    return AttentionMap("decoder_self", 0, torch.tensor(weights), ("<s>", "a"), ("<s>", "a"))


def test_equal_values_share_their_mean_rank():
    assert ranks(np.array([10.0, 20.0, 10.0, 5.0])).tolist() == [2.5, 4.0, 2.5, 1.0]


def test_by_hand():
    """Without ties it is 1 - 6 sum d^2 / (n (n^2 - 1)); here d = 0, 1, -1, 0: 1 - 12 / 60."""
    assert spearman([1, 2, 3, 4], [10, 30, 20, 99]) == pytest.approx(0.8)


def test_only_the_order_counts():
    values = np.random.default_rng(0).random(50)
    assert spearman(values, np.exp(5 * values)) == pytest.approx(1)
    assert spearman(values, -(values**3)) == pytest.approx(-1)


def test_no_order_no_correlation():
    assert math.isnan(spearman([1, 1, 1], [1, 2, 3]))
    assert math.isnan(spearman([], []))


def test_masked_weights_are_excluded():
    first, second = causal([[[1.0, 0.0], [0.7, 0.3]]]), causal([[[1.0, 0.0], [0.2, 0.8]]])
    assert map_correlation(first, second) == pytest.approx((spearman([1, 0.7, 0.3], [1, 0.2, 0.8]),))


def test_one_head_against_each_of_several():
    one, several = causal([[[1.0, 0.0], [0.7, 0.3]]]), causal([[[1.0, 0.0], [0.6, 0.4]], [[0.1, 0.0], [0.4, 0.6]]])
    assert map_correlation(one, several) == pytest.approx((1.0, -1.0))


def test_incomparable_maps_are_refused():
    with pytest.raises(ValueError, match="found 2 and 3"):
        spearman([1, 2], [1, 2, 3])
    encoder = AttentionMap("encoder_self", 0, torch.ones(1, 1, 1), ("a",), ("a",))
    with pytest.raises(ValueError, match=r"maps of encoder_self .* and decoder_self .* cannot be compared"):
        map_correlation(encoder, causal([[[1.0, 0.0], [0.5, 0.5]]]))
    with pytest.raises(ValueError, match="a map of 3 heads cannot be compared with one of 2"):
        map_correlation(causal([[[1.0, 0.0], [0.5, 0.5]]] * 3), causal([[[1.0, 0.0], [0.5, 0.5]]] * 2))
