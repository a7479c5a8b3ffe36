"""The margin within which float32 results of the same computation by different paths are equal.

Another size of batch, order of summation, fusion or processor rounds each product of matrices otherwise, by a few units
in the last place. Along a path these errors add up like independent ones, with the square root of the number of
products. `pytest --disturb SEED` (tests/disturbance.py) finds comparisons that need a margin, on any processor.
"""

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from core.model import Transformer

UNITS = 32  # in the last place of the largest value, for a path of one product
Values = Tensor | np.ndarray | float | Sequence[float]


def depth(model: Transformer) -> int:
    """The most products of matrices one after the other on the way to a logit.

    Four an attention (projection, scores, weighted sum, projection), two a feed-forward network.
    """
    return 6 * len(model.encoder.layers) + 10 * len(model.decoder.layers) + 1


def margin(expected: Values, products: int | Transformer) -> float:
    """The largest difference that rounding explains, by the largest finite value and the number of products."""
    values = torch.as_tensor(expected, dtype=torch.float64)
    magnitude = values[values.isfinite()].abs().max().item() if values.isfinite().any() else 0.0
    number = products if isinstance(products, int) else depth(products)
    return UNITS * torch.finfo(torch.float32).eps * math.sqrt(number) * magnitude


def assert_equal_to_rounding(
    found: Values, expected: Values, products: int | Transformer, bits: int = 24, terms: Values = 0.0
) -> None:
    """Fail unless values are equal to their `margin`, and NaN and infinities at the same places.

    Args:
        products: how many products of matrices lead one after the other to the values, or the model whose they are.
        bits: significant bits with which the values are stored, fewer than those of float32: the last may differ, too.
        terms: larger numbers of which the values are sums or differences.
    """
    ours, theirs = (torch.as_tensor(each, dtype=torch.float64) for each in (found, expected))
    allowed = max(margin(theirs, products), margin(terms, products))
    torch.testing.assert_close(ours, theirs, rtol=2.0 ** (1 - bits), atol=allowed, equal_nan=True)
