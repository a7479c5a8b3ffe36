"""A norm as a linear map, once the scale of each vector is held fixed.

L(u) = gain * c(u) / scale + bias, where c subtracts the mean in a LayerNorm, and leaves u as it is in an RMSNorm.
"""

import torch
from torch import Tensor, nn

from core.model import Norm


def centred(norm: Norm, vectors: Tensor) -> Tensor:
    """c(u), see the module docstring: [..., D] -> [..., D]."""
    return vectors - vectors.mean(-1, keepdim=True) if isinstance(norm, nn.LayerNorm) else vectors


def squared_scale(norm: Norm, vectors: Tensor) -> Tensor:
    """Variance, or mean square in an RMSNorm, with epsilon: [..., D] -> [..., 1]."""
    if isinstance(norm, nn.LayerNorm):
        return vectors.var(-1, keepdim=True, unbiased=False) + norm.eps
    return vectors.square().mean(-1, keepdim=True) + (norm.eps or 0.0)


def norm_bias(norm: Norm) -> Tensor:
    """Bias [D], zeros in an RMSNorm."""
    return norm.bias if isinstance(norm, nn.LayerNorm) else torch.zeros_like(norm.weight)
