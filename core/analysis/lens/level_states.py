"""Places of the states of a stack's levels."""

from core.model import Transformer
from core.trace import Stack


def level_places(model: Transformer, stack: Stack) -> list[str]:
    """Places of the stack's input, then of the state after each layer, before a final norm (see `core.trace`)."""
    layers = (model.encoder if stack == "encoder" else model.decoder).layers
    return [
        f"{stack}.0.self_attention.residual_before",
        *(f"{stack}.{layer}.feed_forward.residual_after" for layer in range(len(layers))),
    ]
