"""What the sinusoidal encoding of positions (3.5) looks like as numbers."""

import math
from typing import Literal

import torch
from torch import Tensor

Measure = Literal["dot", "cosine"]


def position_similarity(encoding: Tensor, measure: Measure = "dot") -> Tensor:
    """How alike any two positions are.

    For sinusoids the dot product depends on the distance alone: sum over pairs of cos(distance * frequency), d_model / 2
    at distance 0. Every sinusoidal encoding has the length sqrt(d_model / 2), so its cosine is the dot product over that.

    Args:
        encoding: [positions, d_model], sinusoidal or learned.
        measure: dot product, or cosine of the angle.

    Returns:
        [positions, positions], symmetric.
    """
    if measure == "cosine":
        encoding = torch.nn.functional.normalize(encoding, dim=1)
    return encoding @ encoding.T


def wavelengths(d_model: int) -> Tensor:
    """The period of each sine-and-cosine pair, in positions: [d_model / 2], from 2 pi up to nearly 10000 * 2 pi (3.5)."""
    return 2 * math.pi * 10000.0 ** (torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
