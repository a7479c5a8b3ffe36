"""The attention layers and heads of a model, and the maps of all of them."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from core.capture import AttentionMap, attention_path
from core.model import FeedForward, MultiHeadAttention, Transformer
from core.trace import KINDS, SUBLAYERS, Head, Kind, Stack, attention_place, edit, record

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


@torch.inference_mode()
def key_outputs(model: Transformer, memories: Mapping[tuple[Kind, int], Tensor]) -> dict[tuple[Kind, int], Tensor]:
    """Output of each head for every key alone, at weight 1: x W_V + b_V in the paper, [B, H, K, d_v] a layer.

    The layers of the model, held by this thread, compute it with the identity in place of their attention weights, from
    `memories`, the input [B, K, D] of the keys and values of each.
    """
    layers = attention_layers(model)
    heads = {key: attention_place(*key, "heads") for key in memories}
    alone = {
        attention_place(*key, "weights"): lambda weights: torch.eye(weights.size(-1)).to(weights).expand_as(weights)
        for key in memories
    }
    with edit(model, alone), record(model, heads.values()) as values:
        for key, memory in memories.items():
            layers[key](memory, memory, torch.ones(1, 1, 1, memory.size(1), dtype=torch.bool, device=memory.device))
    return {key: values[place] for key, place in heads.items()}


@torch.inference_mode()
def constant_outputs(model: Transformer, stack: Stack) -> dict[str, Tensor]:
    """What each sub-layer of a stack adds without its heads or hidden units, its bias: [D] by `decoder.0.feed_forward`.

    The sub-layers of the model, held by this thread, compute it.
    """
    layers = (model.encoder if stack == "encoder" else model.decoder).layers
    names = [(name, layer) for layer in range(len(layers)) for name in SUBLAYERS[stack]]
    sublayers = {f"{stack}.{layer}.{name}": layers[layer].get_submodule(name) for name, layer in names}
    off = {f"{each}.{'hidden' if each.endswith('feed_forward') else 'heads'}": torch.zeros_like for each in sublayers}
    x = torch.zeros_like(model.fed_embedding.tokens(torch.zeros(1, 1, dtype=torch.long, device=model.device)))
    with edit(model, off):
        return {
            place: (each(x) if isinstance(each, FeedForward) else each(x, x, torch.ones_like(x[..., :1]).bool()))[0, 0]
            for place, each in sublayers.items()
        }


def all_heads(model: Transformer) -> list[Head]:
    """Every head of a model, by kind, then by layer."""
    return [
        Head(kind, layer, head)
        for (kind, layer), module in attention_layers(model).items()
        for head in range(module.num_heads)
    ]
