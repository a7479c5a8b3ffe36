"""Changes of `core.model` that everything shown must follow."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from core.model import AttentionWeights, FeedForward

CHANGES = ("softmax", "norm", "feed-forward network")


def change(name: str, patch: pytest.MonkeyPatch) -> None:
    """Replace the computation of a kind of module, as an edit of its source would."""
    if name == "softmax":
        patch.setattr(AttentionWeights, "forward", _constant)
    elif name == "norm":
        for norm in (nn.LayerNorm, nn.RMSNorm):
            patch.setattr(norm, "forward", lambda _norm, x: torch.tanh(x))
    else:
        patch.setattr(FeedForward, "forward", lambda _network, x: -x)


def _constant(_weights: Any, scores: Tensor) -> Tensor:
    """The same weight for every key that may be attended to."""
    visible = scores.isfinite().to(scores.dtype)
    return visible / visible.sum(-1, keepdim=True)
