"""The same model with its matrices laid out for inference on a CPU.

Decoding multiplies large matrices by few rows, one a hypothesis, so its speed is that of reading the matrices.
`torch.nn.functional.linear` leaves float32 to MKL, which reads a matrix row by row as it is stored and, on processors that
it is not tuned for, gets a third of the speed of memory. Two libraries that come with PyTorch do better: FBGEMM reads
matrices in half precision and computes in float32, which is exact for a checkpoint that was saved in half precision;
oneDNN reads float32 in a blocked layout of its own.

None of the three promises that a row's result is the same to the bit whatever rows it is computed with: the order of the
sum may depend on their number. FBGEMM's kernels of one and of two rows sum in an order of their own with AVX2, not with
AVX-512; oneDNN's of one row did with AVX-512 and 1,030 columns; MKL's do almost always. What holds of all is the error
bound of a float32 sum in any order (Higham 2002, section 4.2): |computed - x W^T - b| <= n u / (1 - n u) (|x| |W|^T + |b|)
for n - 1 columns, u = 2^-24. So results for one batch and another agree to rounding, and callers must not ask for more.
"""

import copy
from collections.abc import Callable

import torch
from torch import Tensor, nn

from core.model import AttentionWeights, DecoderLayer, EncoderLayer, KeysValues, MultiHeadAttention, Transformer


class HalfPackedLinear(nn.Module):
    """`nn.Linear` in float32 on weights in half precision, in FBGEMM's layout. Forward only."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        self._packed = torch.ops.quantized.linear_prepack_fp16(weight.detach(), bias)

    def forward(self, x: Tensor) -> Tensor:
        return torch.ops.quantized.linear_dynamic_fp16.default(x, self._packed)


class PackedLinear(nn.Module):
    """`nn.Linear` on a second copy of its weights in float32, in oneDNN's layout. Forward only."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        self.bias = bias
        self._packed: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight.detach())

    def forward(self, x: Tensor) -> Tensor:
        return torch.ops.mkldnn._linear_pointwise.default(x, self._packed, self.bias, "none", [], "")


class PackedSelfAttention(MultiHeadAttention):
    """Self-attention whose queries, keys and values are one product, as a large matrix is read faster than three small ones."""

    def __init__(self, attention: MultiHeadAttention, packed_linear: type[HalfPackedLinear] | type[PackedLinear]) -> None:
        nn.Module.__init__(self)
        projections = (attention.q_proj, attention.k_proj, attention.v_proj)
        self.num_heads = attention.num_heads
        self.widths = [projection.out_features for projection in projections]
        self.qkv_proj = packed_linear(torch.cat([p.weight for p in projections]), torch.cat([p.bias for p in projections]))
        self.out_proj = attention.out_proj
        self.weights = attention.weights

    def project_qkv(self, x: Tensor, memory: Tensor) -> tuple[Tensor, Callable[[], KeysValues]]:
        queries, keys, values = (self._split(part) for part in self.qkv_proj(x).split(self.widths, dim=-1))
        return queries, lambda: (keys, values)


class PackedTransformer(Transformer):
    """A Transformer whose every matrix product is packed, in half precision where that loses nothing.

    All else it shares with the model it is made from. So a hook on the attention weights of that model acts on this one too.
    Weights that change later do not: see `packs`.
    """

    def __init__(self, model: Transformer) -> None:
        nn.Module.__init__(self)
        packed_linear = HalfPackedLinear if halves(model) else PackedLinear
        shared = [model.embedding, *model.parameters(), *(module for module in model.modules() if isinstance(module, AttentionWeights))]
        layers = copy.deepcopy(nn.ModuleList((model.encoder, model.decoder)), {id(part): part for part in shared})
        for layer in list(layers.modules()):
            if isinstance(layer, EncoderLayer | DecoderLayer):
                layer.self_attention = PackedSelfAttention(layer.self_attention, packed_linear)
        for module in list(layers.modules()):
            if not isinstance(module, AttentionWeights):  # hooks of the moment are not for a copy that stays
                module._forward_hooks.clear()
                module._forward_pre_hooks.clear()
            for name, child in module.named_children():
                if isinstance(child, nn.Linear):
                    setattr(module, name, packed_linear(child.weight, child.bias))
        self.config = model.config
        self.embedding = model.embedding
        self.encoder, self.decoder = layers
        self.projection = packed_linear(model.embedding.tokens.weight, None)
        self._state = _state(model)

    def project(self, states: Tensor) -> Tensor:
        return self.projection(states)

    def packs(self, model: Transformer) -> bool:
        """Whether this is made from the model as it is now."""
        return self._state == _state(model)


def packable(model: Transformer) -> bool:
    """Whether packing is possible: float32 on a CPU, and a PyTorch that has a product for these weights."""
    weight = model.embedding.tokens.weight
    return weight.device.type == "cpu" and weight.dtype == torch.float32 and (has_onednn() or halves(model))


def halves(model: Transformer) -> bool:
    """Whether half precision holds every matrix of the model exactly, and this PyTorch computes with such matrices."""
    matrices = (parameter for parameter in model.parameters() if parameter.dim() == 2)
    return has_fbgemm() and all(torch.equal(matrix, matrix.half().float()) for matrix in matrices)


def has_fbgemm() -> bool:
    """Whether this PyTorch, on this processor and with the engine that is set, multiplies halves with FBGEMM."""
    return torch.backends.quantized.engine in ("x86", "fbgemm") and hasattr(torch.ops.quantized, "linear_dynamic_fp16")


def has_onednn() -> bool:
    """Whether this PyTorch has oneDNN's products of matrices in a layout of its own."""
    ops = torch.ops.mkldnn
    return torch.backends.mkldnn.is_available() and hasattr(ops, "_reorder_linear_weight") and hasattr(ops, "_linear_pointwise")


def _state(model: Transformer) -> list[tuple[int, int]]:
    """Which parameters a model has, and how often each was changed."""
    return [(id(parameter), 0 if parameter.is_inference() else parameter._version) for parameter in model.parameters()]
