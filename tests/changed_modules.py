"""Changes of `core.model` that everything shown must follow, and weights that make the unchanged code do the same."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from core.model import AttentionWeights, FeedForward, MultiHeadAttention, Transformer
from core.model.attention import scaled_dot_product_attention

CHANGES = ("softmax", "norm", "feed-forward network")  # and "head", the first one of each layer
FACTOR = -2.0  # a power of two: both ways round alike


def change(name: str, patch: pytest.MonkeyPatch) -> None:
    """Replace the computation of a kind of module, as an edit of its source would."""
    if name == "softmax":
        patch.setattr(AttentionWeights, "forward", _other_softmax)
    elif name == "head":
        patch.setattr("core.model.attention.scaled_dot_product_attention", _other_first_head)
    else:
        for kind in (nn.LayerNorm, nn.RMSNorm) if name == "norm" else (FeedForward,):
            patch.setattr(kind, "forward", lambda self, x, own=kind.forward: FACTOR * own(self, x))


def _other_softmax(_weights: Any, scores: Tensor) -> Tensor:
    return torch.where(scores.isfinite(), FACTOR * scores, scores).softmax(-1)


def _other_first_head(*inputs: Any) -> Tensor:
    heads = scaled_dot_product_attention(*inputs)
    return torch.cat((FACTOR * heads[:, :1], heads[:, 1:]), dim=1)


@torch.no_grad()
def change_weights(name: str, model: Transformer) -> None:
    """Give a model, without relative positions, the weights that compute what `change` does."""
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            layer = module.q_proj if name == "softmax" else module.v_proj
            rows = slice(0, layer.out_features // (module.num_heads if name == "head" else 1))
            parameters = [layer.weight[rows], layer.bias[rows]] if name in ("softmax", "head") else []
        elif isinstance(module, nn.LayerNorm | nn.RMSNorm) and name == "norm":
            parameters = [*module.parameters()]
        elif isinstance(module, FeedForward) and name == "feed-forward network":
            parameters = [*module.outer.parameters()]
        else:
            continue
        for parameter in parameters:
            parameter *= FACTOR
