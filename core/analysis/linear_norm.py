"""A norm as a linear map, once the scale of each vector is held fixed.

L(u) = gain * c(u) / scale + bias, where c subtracts the mean in a LayerNorm, and leaves u as it is in an RMSNorm.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from core.analysis.agreement import require_agreement
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


@dataclass(frozen=True)
class FrozenNorm:
    """A norm on the residual stream with its scale held fixed."""

    norm: Norm  # the norm
    layer: int  # the layer to whose biases its own is added
    gain: Tensor  # [D], as `bias`
    bias: Tensor
    sigma: Tensor  # [T] standard deviation or root of the mean square (with epsilon) of each row in this pass

    def unscaled(self, vectors: Tensor) -> Tensor:
        """The linear part at a scale of 1: [..., D] -> [..., D]."""
        return self.gain * centred(self.norm, vectors)

    def transposed(self, direction: Tensor, row: int) -> Tensor:
        """The transpose of the linear part at one row, applied to a direction: [D] -> [D]."""
        return centred(self.norm, self.gain * direction) / self.sigma[row]  # subtracting a mean is its own transpose


def frozen(norm: Norm, layer: int, entered: Tensor, left: Tensor) -> FrozenNorm:
    """A norm on the stream, with the scale that its input [T, D] gives it.

    Raises:
        DisagreementError: its output [T, D] is another one.
    """
    sigma = squared_scale(norm, entered.double())[..., 0].sqrt()
    found = FrozenNorm(norm, layer, norm.weight.double(), norm_bias(norm).double(), sigma)
    of_parameters = found.unscaled(entered.double()) / sigma[:, None] + found.bias
    require_agreement(f"a norm of layer {layer}, by its parameters", of_parameters, left, depth=1)
    return found
