"""Regularisation (5.4)."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Dropout(nn.Module):
    """Dropout (5.4; Srivastava et al. 2014), with four mask elements per random number.

    On a CPU, one random float per element costs more than the layer it regularises. The probability is exact to 2^-16.
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0:
            return x
        if x.device.type != "cpu":
            return F.dropout(x, self.p)
        draws = torch.empty((x.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None).view(torch.int16)
        kept = draws[: x.numel()].view(x.shape) >= min(round(self.p * 2**16), 2**16 - 1) - 2**15
        return x * kept * (1 / (1 - self.p))

    def extra_repr(self) -> str:
        return f"p={self.p}"
