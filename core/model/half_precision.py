"""Layers whose matrices stay in half precision, as stored in a large model's file.

Widening float16 or bfloat16 to float32 is exact, so these layers compute the same as layers with widened matrices, up
to rounding. They widen a block of rows at a time. The parameter, in `parameters()` and `state_dict()`, is in half
precision; the attribute `weight` is a widened copy of the whole matrix, so all code that reads it computes in float32.
Biases and norms are in float32.
"""

from collections.abc import Generator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

LARGE = 2**28  # parameters, a gigabyte in float32
HALVES = (torch.float16, torch.bfloat16)
BLOCK = 2**22  # elements that are widened at once, 16 MB in float32


class HalfPrecision(nn.Module):
    """A layer with a matrix in half precision."""

    @property
    def stored(self) -> Tensor:
        """The matrix in half precision."""
        return self._parameters["weight"]  # pyright: ignore[reportReturnType]

    @property
    def weight(self) -> Tensor:  # pyright: ignore[reportIncompatibleVariableOverride]
        """A copy of the matrix in float32."""
        return self.stored.float()

    def product(self, x: Tensor, bias: Tensor | None) -> Tensor:
        """`x @ weight.T + bias`: [..., inputs] -> [..., outputs], with a gradient for `x`."""
        y: Tensor = _Product.apply(x, self.stored)  # pyright: ignore[reportAssignmentType]
        return y if bias is None else y + bias


class HalfLinear(HalfPrecision, nn.Linear):  # pyright: ignore[reportIncompatibleVariableOverride]
    """`nn.Linear` with a matrix in half precision."""

    def forward(self, input: Tensor) -> Tensor:
        """[..., inputs] -> [..., outputs]."""
        return self.product(input, self.bias)


class HalfEmbedding(HalfPrecision, nn.Embedding):  # pyright: ignore[reportIncompatibleVariableOverride]
    """`nn.Embedding` with a matrix in half precision."""

    def forward(self, input: Tensor) -> Tensor:
        """[...] ids -> [..., D] in float32."""
        return F.embedding(input, self.stored).float()


class _Product(torch.autograd.Function):
    """x W^T, with a gradient for x; W is widened a block at a time, also in the backward pass."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(weight)
        y, first = x.new_empty(*x.shape[:-1], len(weight)), 0
        for rows in _widened(weight, x):
            y[..., first : first + len(rows)] = F.linear(x, rows)
            first += len(rows)
        return y

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (weight,) = ctx.saved_tensors
        of_y, of_x, first = gradients[0], gradients[0].new_zeros(*gradients[0].shape[:-1], weight.size(1)), 0
        for rows in _widened(weight, of_y):
            of_x += of_y[..., first : first + len(rows)] @ rows
            first += len(rows)
        return of_x, None


def _widened(weight: Tensor, like: Tensor) -> Generator[Tensor]:
    """Blocks of a matrix, one after the other in the same memory, in the type and on the device of `like`."""
    parts = blocks(weight)
    memory = like.new_empty(parts[0].shape)
    for rows in parts:
        yield memory[: len(rows)].copy_(rows)


_KINDS: dict[type[nn.Module], type[nn.Module]] = {nn.Linear: HalfLinear, nn.Embedding: HalfEmbedding}


def keep_half_precision(model: nn.Module) -> None:
    """Make the layers whose matrix is in half precision compute in float32."""
    for module in model.modules():
        kind = _KINDS.get(type(module))
        if kind and isinstance(module.weight, Tensor) and module.weight.dtype in HALVES:
            module.__class__ = kind  # keeps the rest of the layer, and all references to it


def blocks(matrix: Tensor) -> tuple[Tensor, ...]:
    """Views of a matrix [outputs, inputs], of `BLOCK` elements or one row."""
    return matrix.split(max(BLOCK // max(matrix.size(1), 1), 1))


def stored_weight(layer: nn.Module) -> Tensor:
    """The matrix of a layer as it is stored, whose values `layer.weight` has in float32."""
    weight = layer.stored if isinstance(layer, HalfPrecision) else layer.weight
    assert isinstance(weight, Tensor)
    return weight


def kept_types(model: nn.Module) -> set[torch.dtype]:
    """Types of half precision that layers of a model keep."""
    return {module.stored.dtype for module in model.modules() if isinstance(module, HalfPrecision)}


def weight_bytes(model: nn.Module) -> int:
    """Bytes of the parameters of a model, in the types that they are stored in."""
    return sum(parameter.numel() * parameter.element_size() for parameter in model.parameters())


def is_large(model: nn.Module) -> bool:
    """Whether a model has more than `LARGE` parameters: it is then not copied."""
    return sum(parameter.numel() for parameter in model.parameters()) > LARGE
