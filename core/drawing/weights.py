"""Attention weights as text for a page: `weights.js` decodes them."""

import base64

import numpy as np
from torch import Tensor

STEPS = 2**15 - 1  # an encoded weight of 1
NO_WEIGHT = -(2**15)  # encodes NaN: a query that cannot attend to the key


def encoded_weights(weights: Tensor) -> str:
    """Encode weights as little-endian 16-bit integers in base64.

    Args:
        weights: From -1 to 1, of any shape, encoded row by row; NaN where there is no weight. Other values
            are clipped.

    Returns:
        Text of weights in steps of 1/32767: each is off by less than 0.00002.
    """
    steps = np.rint(np.clip(weights.double().numpy(), -1, 1) * STEPS)
    return base64.b64encode(np.nan_to_num(steps, nan=NO_WEIGHT).astype("<i2").tobytes()).decode()
