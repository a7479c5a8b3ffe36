"""Recording of the inputs and outputs of attention sub-layers in one forward pass."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from core.analysis.heads.head import attention_layers
from core.capture import AttentionMap, attention_path
from core.model import MultiHeadAttention, Norm
from core.trace import Kind, attention_place, record
from core.translator import Explanation, Translator

BLOCK_NUMBERS = 2**22  # largest [rows, K, D] held at once: 16 MB of float32


@dataclass(frozen=True)
class SubLayer:
    """Attention sub-layer on one sentence.

    It computes Norm(x + Attention(x, memory)) as in the paper (3.1) or, in models with `norm` "pre",
    x + Attention(Norm(x), memory), where in self-attention the memory is Norm(x).

    Attributes:
        map: its attention weights [H, Q, K] with the tokens.
        attention: the module, for its parameters.
        norm: the norm of the sum; None if the sum is the output.
        x: [Q, D] input on the side of the queries, carried by the residual connection.
        memory: [K, D] input of the projections to keys and values.
        output: [Q, D] output of the sub-layer.
    """

    map: AttentionMap
    attention: MultiHeadAttention
    norm: Norm | None
    x: Tensor
    memory: Tensor
    output: Tensor

    @property
    def weights(self) -> Tensor:
        """[H, Q, K] with the dtype and device of the other tensors."""
        return self.map.weights.to(self.x)

    @property
    def bias(self) -> Tensor:
        """b_O [D], zeros if the model has none."""
        return added_bias(self.attention.out_proj)

    def transformed(self) -> Tensor:
        """f(x_j) = (x_j W_V + b_V) W_O of every head (Kobayashi et al. 2020).

        Returns:
            [H, K, D]: the vector that each head adds for each key at weight 1.
        """
        return transformed(self.attention, self.memory[None])[0]

    def row_blocks(self) -> Iterator[slice]:
        """Slices of the queries that keep a tensor [rows, K, D] within `BLOCK_NUMBERS`."""
        step = max(1, BLOCK_NUMBERS // self.memory.numel())
        return (slice(start, start + step) for start in range(0, len(self.x), step))


def transformed(attention: MultiHeadAttention, memory: Tensor) -> Tensor:
    """`SubLayer.transformed` of a batch: [B, K, D] -> [B, H, K, D].

    It is computed from the parameters, as another thread that holds the model may have hooked its modules.
    """
    projection = attention.v_proj
    values = F.linear(memory, projection.weight, projection.bias)  # [B, K, H * d_v]
    values = values.unflatten(-1, (attention.num_heads, -1)).transpose(1, 2)  # [B, H, K, d_v]
    columns = attention.out_proj.weight.view(-1, attention.num_heads, values.size(-1))  # [D, H, d_v]
    return torch.einsum("bhkv,dhv->bhkd", values, columns)


def added_bias(layer: nn.Linear) -> Tensor:
    """Bias of a projection [outputs], zeros if it has none."""
    bias = cast("Tensor | None", layer.bias)
    return layer.weight.new_zeros(layer.out_features) if bias is None else bias


@dataclass(frozen=True)
class ForwardTrace:
    """An explanation and its attention sub-layers, one per layer and kind."""

    explanation: Explanation
    sublayers: dict[Kind, tuple[SubLayer, ...]]


@torch.inference_mode()
def trace_forward(translator: Translator, source: str, target: str | Sequence[int]) -> ForwardTrace:
    """Replay a translation and record every attention sub-layer.

    Args:
        source, target: as for `Translator.explain`.

    Raises:
        ValueError: as `Translator.explain`.
    """
    with translator.inspect() as model:
        attentions = attention_layers(model)
        wanted = ("residual_before", "memory", "residual_after")
        with record(model, [attention_place(*key, each) for key in attentions for each in wanted]) as values:
            explanation = translator.explain(source, target)

    def sublayer(attention_map: AttentionMap) -> SubLayer:
        key = (attention_map.kind, attention_map.layer)
        norm = model.get_submodule(f"{attention_path(*key)}_norm") if model.config.norm == "post" else None
        assert norm is None or isinstance(norm, Norm)
        x, memory, output = (values[attention_place(*key, each)][0] for each in wanted)
        return SubLayer(attention_map, attentions[key], norm, x, memory, output)

    return ForwardTrace(
        explanation, {kind: tuple(sublayer(layer) for layer in layers) for kind, layers in explanation.maps.items()}
    )
