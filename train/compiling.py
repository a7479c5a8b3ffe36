"""`fit --compile`: the layers compiled by `torch.compile`, on a GPU. What it gains there has not been measured."""

from typing import Any

import torch

from core.model import Transformer

# versions of a layer, for training, validation and shapes that differ; a layer that wants more runs uncompiled
RECOMPILATIONS = 8


def compile_layers(model: Transformer, device: torch.device, backend: Any = "inductor") -> str:
    """Compile every layer in place, with lengths as variables; parameters keep their names, and the loss stays as it
    is.

    Layers alike share what is compiled, so that it takes no longer for six than for one. The loss, which works in
    chunks of its own, is left alone.

    Returns:
        What was done, in a sentence: on a CPU, nothing.
    """
    if device.type != "cuda" and backend == "inductor":
        return f"--compile is for a GPU: on {device.type} the layers run as they are"
    import torch._dynamo.config  # takes a second, which other runs need not wait

    torch._dynamo.config.recompile_limit = RECOMPILATIONS
    for layer in (*model.encoder.layers, *model.decoder.layers):
        layer.compile(dynamic=True, backend=backend)
    return f"layers compiled as they are first used, in at most {RECOMPILATIONS} versions each"
