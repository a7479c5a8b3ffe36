"""Identifiers of attention heads, and the attention layers of a model."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from core.capture import KINDS, AttentionMap, Kind, attention_path
from core.model import MultiHeadAttention, Transformer

Maps = Mapping[Kind, Sequence[AttentionMap]]  # as `Explanation.maps`: one map per layer, by kind

_KIND_NAMES: dict[Kind, str] = {"encoder_self": "encoder", "decoder_self": "decoder", "cross": "cross"}


class Head(NamedTuple):
    """Attention head, counted from 0; equal to the tuple (kind, layer, head)."""

    kind: Kind
    layer: int
    head: int

    def __str__(self) -> str:
        """Display name, counted from 1: `cross L5 H3`."""
        return f"{_KIND_NAMES[self.kind]} L{self.layer + 1} H{self.head + 1}"


def attention_layers(model: Transformer) -> dict[tuple[Kind, int], MultiHeadAttention]:
    """Attention layers of a model by kind and number, in the order of `KINDS`."""
    counts: dict[Kind, int] = {
        "encoder_self": len(model.encoder.layers),
        "decoder_self": len(model.decoder.layers),
        "cross": len(model.decoder.layers),
    }
    found: dict[tuple[Kind, int], MultiHeadAttention] = {}
    for kind in KINDS:
        for layer in range(counts[kind]):
            module = model.get_submodule(attention_path(kind, layer))
            assert isinstance(module, MultiHeadAttention)
            found[kind, layer] = module
    return found


def all_heads(model: Transformer) -> list[Head]:
    """Every head of a model, by kind, then by layer."""
    return [
        Head(kind, layer, head)
        for (kind, layer), module in attention_layers(model).items()
        for head in range(module.num_heads)
    ]
