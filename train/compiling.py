"""`fit --compile`: layers compiled by `torch.compile` on a GPU.

The gain has not been measured yet.
"""

from typing import Any

import torch

from core.model import Transformer

# Versions of a layer, for training, validation and different shapes; beyond them it runs uncompiled.
RECOMPILATIONS = 8


def compile_layers(model: Transformer, device: torch.device, backend: Any = "inductor") -> str:
    """Compile every layer in place, with dynamic lengths; parameters keep their names.

    Layers of the same kind share the compiled code. The chunked loss is not compiled.

    Returns:
        A message that says what was compiled; on a CPU, nothing is.
    """
    if device.type != "cuda" and backend == "inductor":
        return f"--compile needs a GPU: on {device.type} the layers are not compiled"
    import torch._dynamo.config  # a slow import

    torch._dynamo.config.recompile_limit = RECOMPILATIONS
    for layer in (*model.encoder.layers, *model.decoder.layers):
        layer.compile(dynamic=True, backend=backend)
    return f"layers are compiled at their first use, in at most {RECOMPILATIONS} versions each"
