"""The gradient of one weight, as the sum over the places where the model uses it.

A weight w multiplies a number x of the model's input of a layer, at each position, and w x is added to an output y. So

    dL/dw = sum over its uses of dL/dy x,

where dL/dy is what backpropagation brings to that output. An entry of an embedding matrix that is tied (3.4) is used as
the embedding of a token of the source, as that of a token that is fed to the decoder, and in the output matrix.
"""

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.func import functional_call

from core.model import LearnedPositions, Transformer
from core.model.training import is_trained
from core.trace import LayerCall

Index = tuple[int, ...]


class Use(NamedTuple):
    """One use of a weight."""

    # as an entry of an embedding, of the output matrix, or of another layer
    role: Literal["embedding", "output", "layer"]
    side: Literal["source", "target"]  # whose position it is, of the source or of what the decoder is fed
    position: int  # counted from 0
    error: float  # dL/dy, the derivative of the loss by the output that the weight adds to
    factor: float  # x, the number that it multiplies; 1 for a bias and for an entry of an embedding

    @property
    def product(self) -> float:
        """What this use adds to the gradient."""
        return self.error * self.factor


@dataclass(frozen=True)
class WeightGradient:
    """A weight with its gradient."""

    name: str  # of its parameter, a path of modules, such as `embedding.tokens.weight`
    index: Index  # its place in the parameter, counted from 0
    value: float  # before the step
    gradient: float  # dL/dw by backpropagation
    uses: tuple[Use, ...]  # whose products sum to the gradient
    slope: float  # (L(w + h) - L(w - h)) / 2h, which approaches the gradient and needs no backpropagation

    @property
    def place(self) -> str:
        """The weight in Python: `embedding.tokens.weight[5, 3]`."""
        return f"{self.name}[{', '.join(map(str, self.index))}]"

    @property
    def total(self) -> float:
        """The sum of the products of all uses."""
        return sum(use.product for use in self.uses)


def trained_parameters(model: nn.Module) -> dict[str, nn.Parameter]:
    """The parameters that training changes, by their names; tied ones once."""
    return {name: parameter for name, parameter in model.named_parameters() if is_trained(name)}


def parse_weight(text: str, model: nn.Module) -> tuple[str, Index | None]:
    """Parse the name of a weight, `embedding.tokens.weight[5, 3]`, or of a parameter, which has no index.

    Raises:
        ValueError: there is no such weight, or training does not change it.
    """
    match = re.fullmatch(r"\s*([\w.]+?)\s*(?:\[([\d\s,]*)\]\s*)?", text)
    parameters = dict(model.named_parameters())
    if not match or match[1] not in parameters:
        nearest = ", ".join(get_close_matches(match[1] if match else text, parameters, 3, 0))
        raise ValueError(
            f"there is no weight {text!r} in this model: give the name of a parameter, with an index counted from 0 if "
            f"you like, as in 'embedding.tokens.weight[5, 3]'; the nearest names are {nearest}"
        )
    name, numbers = match[1], match[2]
    if not is_trained(name):
        raise ValueError(
            f"{name} is not trained: a bias of the keys adds the same to all scores of a query, which the softmax "
            f"cancels, so its gradient is 0; select another weight"
        )
    if numbers is None:
        return name, None
    shape, index = tuple(parameters[name].shape), tuple(map(int, re.findall(r"\d+", numbers)))
    if len(index) != len(shape) or any(each >= size for each, size in zip(index, shape, strict=False)):
        expected = ", ".join(f"0 to {size - 1}" for size in shape)
        raise ValueError(f"{name} has no index [{numbers.strip()}]: its shape is {list(shape)}, give [{expected}]")
    return name, index


def weight_uses(
    model: Transformer, name: str, index: Index, calls: list[tuple[LayerCall, Tensor]], output: tuple[Tensor, Tensor]
) -> tuple[Use, ...]:
    """The uses of a weight, from the calls of its layer, each with the derivative of the loss by the output, and from
    the decoder's states [T, D] with that by the logits [T, V].
    """
    is_embedding = isinstance(model.get_submodule(name.rpartition(".")[0]), nn.Embedding)
    uses = [
        Use("embedding" if is_embedding else "layer", _side(name, number), *numbers)
        for number, (call, errors) in enumerate(calls)
        for numbers in _products(model, name, index, call, errors)
    ]
    parameter, (states, of_logits) = model.get_parameter(name), output
    if parameter is model.unembedding or parameter is model.output_bias:
        errors = of_logits[:, index[0]]
        factors = states[:, index[1]] if parameter is model.unembedding else torch.ones_like(errors)
        numbers = zip(range(len(errors)), errors.tolist(), factors.tolist(), strict=True)
        uses += [Use("output", "target", *each) for each in numbers]
    return tuple(uses)


def layer_of(model: nn.Module, name: str) -> nn.Module:
    """The module whose calls use a parameter: the one that has it or, of a table of positions, the one around that."""
    path = name.rpartition(".")[0]
    around = model.get_submodule(path.rpartition(".")[0])
    return around if isinstance(around, LearnedPositions) else model.get_submodule(path)


def _side(name: str, number: int) -> Literal["source", "target"]:
    """Whose positions the call of this number has."""
    if name.startswith("embedding."):  # of the source and then, if tied, of the target
        return "source" if number == 0 else "target"
    of_memory = re.search(r"\.cross_attention\.[kv]_proj\.", name)
    return "source" if name.startswith("encoder.") or of_memory else "target"


def _products(
    model: nn.Module, name: str, index: Index, call: LayerCall, errors: Tensor
) -> list[tuple[int, float, float]]:
    """Position, error and factor of each use in one call of the layer."""
    module, of_layer = model.get_submodule(name.rpartition(".")[0]), layer_of(model, name)
    last = index[-1]
    if isinstance(of_layer, LearnedPositions):  # whose first argument is the first position
        position = index[0] - int(call.argument)
        return [(position, float(errors[position, last]), 1.0)] if 0 <= position < len(errors) else []
    if isinstance(module, nn.Embedding):
        found = (call.argument == index[0])[0]  # [L], or [Q, K] of a class of distances
        own = (errors[0, ..., last] * found).flatten(1).sum(1) if found.dim() > 1 else errors[0, :, last]
        rows = found.flatten(1).any(1) if found.dim() > 1 else found
        return [(row, float(own[row]), 1.0) for row in rows.nonzero()[:, 0].tolist()]
    own = errors[0, :, index[0]]
    if name.endswith(".bias"):
        factors = torch.ones_like(own)
    elif isinstance(module, nn.Linear):
        factors = call.argument[0, :, last]
    else:  # a norm, with a gain of 1 and no bias
        plain = {each: torch.full_like(value, each == "weight") for each, value in module.named_parameters()}
        factors = functional_call(module, plain, call.argument)[0, :, last]
    return list(zip(range(len(own)), own.tolist(), factors.tolist(), strict=True))
