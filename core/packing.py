"""The same model with its matrices laid out for inference on a CPU.

Decoding multiplies large matrices by few rows: one a hypothesis. `torch.nn.functional.linear` leaves float32 to MKL, which
reads a matrix row by row as it is stored and, on processors that it is not tuned for, gets a third of the speed of memory.
oneDNN, which comes with PyTorch too, is as fast as memory once a matrix lies in its own blocked layout.
"""

import copy

import torch
from torch import Tensor, nn

from core.model import AttentionWeights, Transformer


class PackedLinear(nn.Module):
    """`nn.Linear` on a second copy of its weights, in oneDNN's layout. Forward only."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        self.bias = bias
        self._packed: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight.detach())

    def forward(self, x: Tensor) -> Tensor:
        return torch.ops.mkldnn._linear_pointwise(x, self._packed, self.bias, "none", [], "")


class PackedTransformer(Transformer):
    """A Transformer whose every matrix product is a `PackedLinear`. All else it shares with the model it is made from.

    So a hook on the attention weights of that model acts on this one too. Weights that change later do not: see `packs`.
    """

    def __init__(self, model: Transformer) -> None:
        nn.Module.__init__(self)
        shared = [model.embedding, *model.parameters(), *(module for module in model.modules() if isinstance(module, AttentionWeights))]
        layers = copy.deepcopy(nn.ModuleList((model.encoder, model.decoder)), {id(part): part for part in shared})
        for module in list(layers.modules()):
            if not isinstance(module, AttentionWeights):  # hooks of the moment are not for a copy that stays
                module._forward_hooks.clear()
                module._forward_pre_hooks.clear()
            for name, child in module.named_children():
                if isinstance(child, nn.Linear):
                    setattr(module, name, PackedLinear(child.weight, child.bias))
        self.config = model.config
        self.embedding = model.embedding
        self.encoder, self.decoder = layers
        self.projection = PackedLinear(model.embedding.tokens.weight, None)
        self._state = _state(model)

    def project(self, states: Tensor) -> Tensor:
        return self.projection(states)

    def packs(self, model: Transformer) -> bool:
        """Whether this is made from the model as it is now."""
        return self._state == _state(model)


def packable(model: Transformer) -> bool:
    """Whether packing is possible: float32 on a CPU, and a PyTorch that has oneDNN's products."""
    weight = model.embedding.tokens.weight
    has_products = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")
    return has_products and weight.device.type == "cpu" and weight.dtype == torch.float32


def _state(model: Transformer) -> list[tuple[int, int]]:
    """Which parameters a model has, and how often each was changed."""
    return [(id(parameter), 0 if parameter.is_inference() else parameter._version) for parameter in model.parameters()]
