import math

import pytest
import torch

from core.analysis.alignment.coverage import (
    absentmindedness_in,
    absentmindedness_out,
    attention_confidence,
    coverage,
    coverage_deviation,
    coverage_penalty,
)

UNEVEN = torch.tensor([[1.0, 0.0], [0.5, 0.5]])  # source coverage 1.5 and 0.5


def test_one_to_one_is_perfect():
    assert coverage(torch.eye(3)).tolist() == [1, 1, 1]
    assert coverage_penalty(torch.eye(3)) == 0
    assert attention_confidence(torch.eye(3)) == 0


def test_by_hand():
    assert coverage(UNEVEN).tolist() == [1.5, 0.5]
    assert coverage_penalty(UNEVEN, beta=0.2) == pytest.approx(0.2 * math.log(0.5))
    assert coverage_deviation(UNEVEN) == pytest.approx(-math.log(1.25))
    assert absentmindedness_out(UNEVEN) == pytest.approx(-math.log(2) / 2)  # rows: entropy 0 and ln 2
    thirds = -(2 / 3 * math.log(2 / 3) + 1 / 3 * math.log(1 / 3))  # columns: (2/3, 1/3) and (0, 1)
    assert absentmindedness_in(UNEVEN) == pytest.approx(-thirds / 2)
    assert attention_confidence(UNEVEN) == pytest.approx(-math.log(1.25) - math.log(2) / 2 - thirds / 2)


def test_a_source_token_nobody_looked_at():
    weights = torch.tensor([[1.0, 0.0]])
    assert coverage_penalty(weights) == -math.inf
    assert coverage_deviation(weights) == pytest.approx(-math.log(2) / 2)
    assert absentmindedness_in(weights) == 0
