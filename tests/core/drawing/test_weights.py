import base64

import numpy as np
import torch

from core.drawing.weights import NO_WEIGHT, STEPS, encoded_weights


def test_encoded_weights_are_off_by_half_a_step_at_most() -> None:
    weights = 2 * torch.rand(3, 5, 7, generator=torch.Generator().manual_seed(0)) - 1
    found = np.frombuffer(base64.b64decode(encoded_weights(weights)), "<i2").reshape(3, 5, 7)
    np.testing.assert_allclose(found / STEPS, weights, rtol=0, atol=0.5 / STEPS + 1e-9)


def test_weights_out_of_range_are_clipped_and_missing_ones_stay_missing() -> None:
    weights = torch.tensor([-1.1, -1, 0, 1, 1.1, torch.nan])
    found = np.frombuffer(base64.b64decode(encoded_weights(weights)), "<i2")
    assert found.tolist() == [-STEPS, -STEPS, 0, STEPS, STEPS, NO_WEIGHT]
