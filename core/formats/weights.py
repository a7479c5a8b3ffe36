"""Tensors of a file by name, read only on request."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from core.formats.checkpoint import CheckpointError
from core.formats.progress import advance
from core.formats.untrusted_parameters import as_parameter
from core.model import Transformer
from core.model.half_precision import is_large

FLOATS = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16"}


@dataclass(frozen=True)
class Weights:
    """Tensors of a file, read only on request."""

    file_name: str  # for messages
    shapes: Mapping[str, tuple[int, ...]]  # by name
    dtypes: Mapping[str, torch.dtype]  # by name; only floating-point types of at most 32 bits
    get: Callable[[str], Tensor]  # as stored; do not modify it

    def read(self, name: str, of_large_model: bool = False) -> Tensor:
        """A tensor as a parameter, see `as_parameter`."""
        advance(math.prod(self.shapes[name]), sum(map(math.prod, self.shapes.values())))
        return as_parameter(self.get(name), of_large_model)

    def read_all(self, model: Transformer, sources: Mapping[str, str]) -> dict[str, Tensor]:
        """Parameters of a model by name, from the name of each in the file."""
        large = is_large(model)
        return {ours: self.read(theirs, large) for ours, theirs in sources.items()}

    def equal(self, one: str, other: str) -> bool:
        """Whether the file has both tensors, of equal shape and equal elements."""
        return (
            self.shapes.get(one, one) == self.shapes.get(other, other)
            and self.dtypes[one] == self.dtypes[other]
            and torch.equal(self.get(one), self.get(other))
        )

    def types(self, names: Iterable[str]) -> list[str]:
        """Types of tensors, as safetensors names them."""
        return [FLOATS[self.dtypes[name]] for name in names]


def in_memory(file_name: str, tensors: Mapping[str, Tensor]) -> Weights:
    """Tensors that have been read already, or mapped."""
    return Weights(
        file_name,
        {name: tuple(tensor.shape) for name, tensor in tensors.items()},
        {name: tensor.dtype for name, tensor in tensors.items()},
        tensors.__getitem__,
    )


def unknown_type(file_name: str, name: str, dtype: str) -> CheckpointError:
    """Say that a tensor has a type that is not read."""
    return CheckpointError(f"{file_name}: {name!r:.80} has type {dtype}, expected one of {', '.join(FLOATS.values())}")
