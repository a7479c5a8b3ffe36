"""Inputs and outputs of a stack's modules, recorded in the model's own pass."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from core.analysis.token_path.score_products import exact
from core.analysis.token_path.steps import Stack
from core.hooks import removed_hooks
from core.model import AttentionWeights, FeedForward, Transformer


@dataclass(frozen=True)
class Call:
    """First argument and output of a module in float64, without the batch axis."""

    input: Tensor
    output: Tensor


@contextmanager
def recorded_calls(model: Transformer, stack: Stack, layer: int) -> Generator[dict[str, Call]]:
    """Record a run inside the block.

    Yields:
        The calls by the path of the module, which the run fills: of the stack, its norms, the layer, and what computes
        in it.
    """
    calls: dict[str, Call] = {}
    with removed_hooks() as handles:
        for path, module in _recorded(model, stack, layer):
            handles.append(module.register_forward_hook(_record(calls, path)))
        yield calls


def _recorded(model: Transformer, stack: Stack, layer: int) -> list[tuple[str, nn.Module]]:
    """The stack, its norms, the layer, and what computes in it, by their paths."""
    inside = f"{stack}.layers.{layer}"
    kinds = (nn.Linear, nn.LayerNorm, nn.RMSNorm, AttentionWeights, FeedForward)
    found = [(stack, model.get_submodule(stack)), (inside, model.get_submodule(inside))]
    for path, module in model.named_modules():
        of_stack = path in (f"{stack}.input_norm", f"{stack}.output_norm")
        if isinstance(module, kinds) and (of_stack or path.startswith(f"{inside}.")):
            found.append((path, module))
    return found


def _record(calls: dict[str, Call], path: str) -> Callable[[nn.Module, tuple[Any, ...], Tensor], None]:
    def hook(_module: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> None:
        calls[path] = Call(*(exact(each[0]) for each in (inputs[0], output)))

    return hook
