"""States of a stack's levels, recorded while the model runs."""

from collections.abc import Generator
from contextlib import contextmanager

from torch import Tensor, nn

from core.hooks import removed_hooks
from core.model import Decoder, Encoder


@contextmanager
def level_states(stack: Encoder | Decoder) -> Generator[list[Tensor]]:
    """Record the states of one sentence in a run inside the block.

    Yields:
        A list that the run fills: [T, D] of the input, then after each layer, before a final norm.
    """
    states: list[Tensor] = []

    def keep(_module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        if not states:
            states.append(inputs[0][0])
        states.append(output[0])

    with removed_hooks() as handles:
        handles.extend(layer.register_forward_hook(keep) for layer in stack.layers)
        yield states
