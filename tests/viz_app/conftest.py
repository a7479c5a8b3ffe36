"""Attention to draw, made of nothing but a seed."""

from collections.abc import Callable

import pytest
import torch

from core.capture import AttentionMap, Kind

MakeMap = Callable[..., AttentionMap]


@pytest.fixture(scope="session")
def make_map() -> MakeMap:
    """Random weights whose rows sum to 1, with tokens that repeat; `keys` counts in cross-attention alone."""

    def make(queries: int = 5, keys: int = 4, num_heads: int = 3, layer: int = 0, kind: Kind = "cross", token: str = "\u2581the") -> AttentionMap:
        keys = keys if kind == "cross" else queries
        weights = torch.randn(num_heads, queries, keys, generator=torch.Generator().manual_seed(layer)).mul(2).softmax(-1)
        fed = ("<s>", *[token] * (queries - 1))
        predicted = (*[token] * (queries - 1), "</s>")
        key_tokens = fed if kind == "decoder_self" else (*[token] * (keys - 1), "</s>")
        if kind == "encoder_self":
            return AttentionMap(kind, layer, weights, key_tokens, key_tokens)
        return AttentionMap(kind, layer, weights, fed, key_tokens, predicted)

    return make
