"""The attention layers and heads of a model, and the maps of all of them."""

from collections.abc import Mapping, Sequence

from torch import Tensor

from core.capture import AttentionMap, attention_path
from core.model import MultiHeadAttention, Transformer
from core.trace import KINDS, Head, Kind

Maps = Mapping[Kind, Sequence[AttentionMap]]  # as `Explanation.maps`: one map per layer, by kind


def attention_layers(model: Transformer) -> dict[tuple[Kind, int], MultiHeadAttention]:
    """Attention layers of a model by kind and number, in the order of `KINDS`."""
    counts: dict[Kind, int] = {
        "encoder_self": len(model.encoder.layers),
        "decoder_self": len(model.decoder.layers),
        "cross": len(model.decoder.layers),
    }
    layers: dict[tuple[Kind, int], MultiHeadAttention] = {}
    for kind in KINDS:
        for layer in range(counts[kind]):
            module = model.get_submodule(attention_path(kind, layer))
            assert isinstance(module, MultiHeadAttention)
            layers[kind, layer] = module
    return layers


def head_matrices(attention: MultiHeadAttention) -> Tensor:
    """Columns of W_O that belong to each head: [D, H, d_v]."""
    return attention.out_proj.weight.unflatten(1, (attention.num_heads, -1))


def all_heads(model: Transformer) -> list[Head]:
    """Every head of a model, by kind, then by layer."""
    return [
        Head(kind, layer, head)
        for (kind, layer), module in attention_layers(model).items()
        for head in range(module.num_heads)
    ]
