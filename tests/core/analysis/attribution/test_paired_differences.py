"""Paired differences against numerical integration of Student's density, and tests by hand."""

import math
import random

import pytest
import torch

from core.analysis.attribution.paired_differences import holm, paired_difference, t_quantile, within_t


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 9, 30, 31])
def test_the_probability_is_the_integral_of_the_density(freedom: int):
    for t in (0.1, 1.0, 2.5, 6.0):
        x = torch.linspace(-t, t, 20_001, dtype=torch.float64)
        scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(freedom * math.pi)
        density = scale * (1 + x.square() / freedom) ** (-(freedom + 1) / 2)
        assert within_t(t, freedom) == pytest.approx(float(torch.trapezoid(density, x)), abs=1e-6)
        assert t_quantile(within_t(t, freedom), freedom) == pytest.approx(t)


def test_the_interval_contains_the_difference_as_often_as_it_says():
    """Over 600 samples the share differs from 95 % by less than four standard errors, 3.6 %.

    One standard error instead of the quantile would contain it in 64 %, unpaired errors in all.
    """
    draw, contained, rejected = random.Random(1), 0, 0
    for _ in range(600):
        levels = [draw.gauss(0, 10) for _ in range(7)]
        first = [level + draw.gauss(0.5, 1) for level in levels]
        found = paired_difference(first, levels)
        contained += found.low <= 0.5 <= found.high
        shifted = paired_difference(first, [level + 0.5 for level in levels])
        rejected += shifted.p_value <= 0.05
    assert contained / 600 == pytest.approx(0.95, abs=0.036)
    assert rejected == 600 - contained


def test_constant_differences_are_certain_and_one_pair_says_nothing():
    assert paired_difference([2.0, 3.0], [1.0, 2.0]).p_value == 0
    assert paired_difference([1.0, 2.0], [1.0, 2.0]).p_value == 1
    one = paired_difference([2.0], [1.0])
    assert (one.mean, one.low, one.high, one.p_value) == (1.0, -math.inf, math.inf, 1.0)
    for first, second in (([], []), ([1.0], [1.0, 2.0])):
        with pytest.raises(ValueError, match=r"pairs are of equally many examples, found \d and \d"):
            paired_difference(first, second)


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == pytest.approx([1.0, 1.0])
    assert holm([]) == []
