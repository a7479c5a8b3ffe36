"""Recording of the inputs and outputs of attention sub-layers in one forward pass."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from core.analysis.agreement import require_agreement
from core.analysis.heads.head import attention_layers, head_matrices, key_outputs
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
    """

    map: AttentionMap  # its attention weights [H, Q, K] with the tokens
    attention: MultiHeadAttention  # the module, for its parameters
    norm: Norm | None  # the norm of the sum; None if the sum is the output
    x: Tensor  # [Q, D] input on the side of the queries, carried by the residual connection
    memory: Tensor  # [K, D] input of the projections to keys and values
    values: Tensor  # [H, K, d_v] what each head puts out for a key at weight 1: x_j W_V + b_V
    output: Tensor  # [Q, D] output of the sub-layer

    @property
    def weights(self) -> Tensor:
        """[H, Q, K] with the dtype and device of the other tensors."""
        return self.map.weights.to(self.x)

    @property
    def bias(self) -> Tensor:
        """b_O [D], zeros if the model has none."""
        return added_bias(self.attention.out_proj)

    def transformed(self) -> Tensor:
        """f(x_j) = (x_j W_V + b_V) W_O [H, K, D]: what a head adds for a key at weight 1 (Kobayashi et al. 2020)."""
        return transformed(self.attention, self.values)

    def row_blocks(self) -> Iterator[slice]:
        """Slices of the queries that keep a tensor [rows, K, D] within `BLOCK_NUMBERS`."""
        step = max(1, BLOCK_NUMBERS // self.memory.numel())
        return (slice(start, start + step) for start in range(0, len(self.x), step))


def transformed(attention: MultiHeadAttention, values: Tensor) -> Tensor:
    """`SubLayer.transformed` of any batch: [..., H, K, d_v] -> [..., H, K, D]."""
    return torch.einsum("...hkv,dhv->...hkd", values, head_matrices(attention))


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

    Raises:
        ValueError: as `Translator.explain`.
        DisagreementError: heads do not add up what their keys give them.
    """
    with translator.inspect() as model:
        attentions = attention_layers(model)
        wanted = ("residual_before", "memory", "residual_after", "heads")
        with record(model, [attention_place(*key, each) for key in attentions for each in wanted]) as recorded:
            explanation = translator.explain(source, target)
        found = {key: [recorded[attention_place(*key, each)] for each in wanted] for key in attentions}
        values = key_outputs(model, {key: memory for key, (_, memory, *_) in found.items()})

    def sublayer(attention_map: AttentionMap) -> SubLayer:
        key = (attention_map.kind, attention_map.layer)
        norm = model.get_submodule(f"{attention_path(*key)}_norm") if model.config.norm == "post" else None
        assert norm is None or isinstance(norm, Norm)
        x, memory, output, heads = (each[0] for each in found[key])
        of_layer = SubLayer(attention_map, attentions[key], norm, x, memory, values[key][0], output)
        require_weighted_sums(attention_place(*key, "heads"), of_layer.weights, of_layer.values, heads)
        return of_layer

    return ForwardTrace(
        explanation, {kind: tuple(sublayer(layer) for layer in layers) for kind, layers in explanation.maps.items()}
    )


def require_weighted_sums(place: str, weights: Tensor, values: Tensor, heads: Tensor) -> None:
    """Check that heads [H, Q, d_v] are the sums of the values of their keys, [H, K, d_v], with weights [H, Q, K].

    Raises:
        DisagreementError: they are not.
    """
    require_agreement(place, weights @ values, heads, depth=1)
