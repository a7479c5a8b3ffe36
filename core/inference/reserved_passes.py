"""Memory of the passes of a model, reserved before they take it, by the model and the lengths that it gets."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from core.files.budget import pass_bytes
from core.files.process_memory import PROCESS
from core.model import Transformer
from core.model.pass_size import numbers_per_token


@contextmanager
def reserved_passes(model: Transformer) -> Generator[None]:
    """Reserve the memory of passes inside the block, that of the largest one, until its end.

    Raises:
        NoRoomError: in a pass, if the process may not have as much.
    """
    config, taken = model.config, {"encoder": 0, "decoder": 0}
    layers = config.num_encoder_layers + config.num_decoder_layers
    encoder_heads = config.num_encoder_layers * config.encoder_heads.num_heads
    decoder_heads = config.num_decoder_layers * config.decoder_heads.num_heads
    with PROCESS.reserved() as reserve:

        def note(stack: str, states: Tensor, pairs: int, numbers: int) -> None:
            size = pass_bytes(pairs, numbers, states.size(0), 1 if torch.is_grad_enabled() else layers)
            if size > taken[stack]:
                taken[stack] = size
                reserve(sum(taken.values()))

        def before_encoder(_module: nn.Module, arguments: tuple[Any, ...]) -> None:
            states: Tensor = arguments[0]
            note("encoder", states, encoder_heads * states.size(1) ** 2, 0)

        def before_decoder(_module: nn.Module, arguments: tuple[Any, ...]) -> None:
            states, memory = arguments[:2]
            length, keys = states.size(1), memory.size(1)
            numbers = numbers_per_token(config) * max(length, keys)
            note("decoder", states, decoder_heads * length * (length + keys), numbers)

        with (
            model.encoder.register_forward_pre_hook(before_encoder),
            model.decoder.register_forward_pre_hook(before_decoder),
        ):
            yield
