"""A pre-norm decoder: x + Sublayer(LayerNorm(x)), with a final LayerNorm (Wang et al. 2019)."""

import copy
from typing import Any

import torch
from torch import Tensor, nn

from core.model import Decoder, DecoderLayer, Transformer


class PreNormLayer(DecoderLayer):
    def forward(self, x: Tensor, memory: Tensor, mask: Any, memory_mask: Tensor, cache: Any = None) -> Tensor:
        normed = self.self_attention_norm(x)
        x = x + self.self_attention(normed, normed, mask)
        x = x + self.cross_attention(self.cross_attention_norm(x), memory, memory_mask)
        return x + self.feed_forward(self.feed_forward_norm(x))


class PreNormDecoder(Decoder):
    norm: nn.LayerNorm

    def forward(self, *arguments: Any) -> Tensor:
        return self.norm(super().forward(*arguments))


def pre_norm(model: Transformer) -> Transformer:
    """A copy with the same parameters, and a random final norm."""
    found = copy.deepcopy(model)
    for layer in found.decoder.layers:
        layer.__class__ = PreNormLayer
    found.decoder.__class__ = PreNormDecoder
    norm = nn.LayerNorm(model.config.d_model)
    with torch.random.fork_rng():
        torch.manual_seed(5)
        nn.init.uniform_(norm.weight, 0.5, 1.5)
        nn.init.normal_(norm.bias, std=0.3)
    found.decoder.norm = norm.requires_grad_(False)
    return found
