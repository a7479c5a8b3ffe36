"""Small models of transformers: the parts that their makers share."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

LEARNED = 9  # pairs that a model learns by heart; its tokenizer knows all
SHAPE = {  # one layer, where nothing depends on their number
    "d_model": 32,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "max_position_embeddings": 64,
    "dropout": 0.0,
    "init_std": 0.2,
}


@torch.no_grad()
def vary_norms_and_biases(model: nn.Module) -> None:
    """Leave no gain of one and no bias of zero, which would hide a parameter that is not read."""
    for name, parameter in model.named_parameters():
        if "layer_norm" in name or name.endswith("bias"):
            parameter.add_(torch.randn_like(parameter), alpha=0.1)


def learn(model: nn.Module, loss: Callable[[], Tensor], steps: int, rate: float) -> None:
    """Minimise a loss with Adam."""
    optimizer = torch.optim.Adam([each for each in model.parameters() if each.requires_grad], lr=rate, fused=True)
    model.train()
    for _ in range(steps):
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()
    model.eval()
