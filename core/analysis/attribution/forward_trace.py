"""Recording of the inputs and outputs of attention sub-layers in one forward pass."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from core.analysis.heads.head import attention_layers
from core.capture import AttentionMap, Kind, attention_path
from core.model import MultiHeadAttention
from core.translator import Explanation, Translator

BLOCK_NUMBERS = 2**22  # largest [rows, K, D] held at once: 16 MB of float32


@dataclass(frozen=True)
class SubLayer:
    """Attention sub-layer LayerNorm(x + Attention(x, memory)) (3.1) on one sentence.

    Attributes:
        map: its attention weights [H, Q, K] with the tokens.
        attention, norm: the modules, for their parameters.
        x: [Q, D] input on the side of the queries, also carried by the residual connection.
        memory: [K, D] input for keys and values: `x` itself in self-attention.
        output: [Q, D] output of the norm.
    """

    map: AttentionMap
    attention: MultiHeadAttention
    norm: nn.LayerNorm
    x: Tensor
    memory: Tensor
    output: Tensor

    @property
    def weights(self) -> Tensor:
        """[H, Q, K] with the dtype and device of the other tensors."""
        return self.map.weights.to(self.x)

    def transformed(self) -> Tensor:
        """f(x_j) = (x_j W_V + b_V) W_O of every head (Kobayashi et al. 2020).

        Returns:
            [H, K, D]: the vector that each head adds for each key at weight 1.
        """
        values = self.attention.keys_values(self.memory[None])[1][0]  # [H, K, d_v]
        columns = self.attention.out_proj.weight.view(-1, self.attention.num_heads, values.size(-1))  # [D, H, d_v]
        return torch.einsum("hkv,dhv->hkd", values, columns)

    def row_blocks(self) -> Iterator[slice]:
        """Slices of the queries that keep a tensor [rows, K, D] within `BLOCK_NUMBERS`."""
        step = max(1, BLOCK_NUMBERS // self.memory.numel())
        return (slice(start, start + step) for start in range(0, len(self.x), step))


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
    inputs: dict[str, tuple[Tensor, Tensor]] = {}
    outputs: dict[str, Tensor] = {}
    with translator.inspect() as model:
        attentions = attention_layers(model)
        handles: list[Any] = []
        try:
            for key, attention in attentions.items():
                path = attention_path(*key)
                handles.append(attention.register_forward_pre_hook(_keep_inputs(inputs, path)))
                handles.append(model.get_submodule(f"{path}_norm").register_forward_hook(_keep_output(outputs, path)))
            explanation = translator.explain(source, target)
        finally:
            for handle in handles:
                handle.remove()
        norms = {key: model.get_submodule(f"{attention_path(*key)}_norm") for key in attentions}

    def sublayer(attention_map: AttentionMap) -> SubLayer:
        key = (attention_map.kind, attention_map.layer)
        path, norm = attention_path(*key), norms[key]
        assert isinstance(norm, nn.LayerNorm)
        return SubLayer(attention_map, attentions[key], norm, *inputs[path], outputs[path])

    return ForwardTrace(
        explanation, {kind: tuple(sublayer(layer) for layer in layers) for kind, layers in explanation.maps.items()}
    )


def _keep_inputs(
    inputs: dict[str, tuple[Tensor, Tensor]], path: str
) -> Callable[[nn.Module, tuple[Tensor, ...]], None]:
    def hook(_module: nn.Module, arguments: tuple[Tensor, ...]) -> None:
        inputs[path] = (arguments[0][0], arguments[1][0])

    return hook


def _keep_output(outputs: dict[str, Tensor], path: str) -> Callable[[nn.Module, tuple[Tensor, ...], Tensor], None]:
    def hook(_module: nn.Module, _arguments: tuple[Tensor, ...], output: Tensor) -> None:
        outputs[path] = output[0]

    return hook
