"""Numbers that differ by more than rounding are refused."""

import math

import pytest
import torch

from core.analysis.agreement import DisagreementError, depth_of, require_agreement, rounding
from core.model.preset_configs import PRESETS


def test_what_rounding_explains_grows_with_depth_and_magnitude():
    assert require_agreement("it", 1 + 2e-5, 1.0, depth=1) == pytest.approx(2e-5)
    assert require_agreement("it", torch.tensor([1e4 + 1, 0]), torch.tensor([1e4, 0]), depth=10) == 1
    assert require_agreement("it", torch.empty(0), torch.empty(0), depth=1) == 0
    assert rounding(6, 10) == 60 * rounding(1)
    assert depth_of(PRESETS["base"]) == 2 * 6 + 3 * 6 + 1


@pytest.mark.parametrize("found", [1.001, math.nan, math.inf])
def test_more_is_refused(found: float):
    message = rf"^a sum: the analysis computes {found}, the model 1, expected a difference of 3e-05 at most, .* undo"
    with pytest.raises(DisagreementError, match=message):
        require_agreement("a sum", torch.tensor([2.0, found]), torch.tensor([2.0, 1.0]), 1, 1.0)
    with pytest.raises(DisagreementError):
        require_agreement("a sum", 1.0, found, 1)
