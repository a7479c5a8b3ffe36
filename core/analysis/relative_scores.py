"""Scores that relative positions add to the products of queries and keys."""

from typing import cast

import torch
from torch import Tensor

from core.model import RelativePositions, Transformer, position_distances
from core.trace import Kind


@torch.inference_mode()
def relative_scores(model: Transformer, kind: Kind, layer: int, length: int) -> Tensor | None:
    """Scores of all distances in a sentence, in a layer.

    Returns:
        [H, Q, K] in float64, on the CPU as MPS lacks it; None in cross-attention, and without relative positions.
    """
    stack = model.encoder if kind == "encoder_self" else model.decoder
    own = cast("RelativePositions | None", stack.layers[layer].relative_positions)
    positions = own or stack.relative_positions
    if kind == "cross" or positions is None:
        return None
    everything = torch.ones(1, 1, 1, length, dtype=torch.bool, device=model.device)
    return positions(everything, position_distances(length, model.device))[0].cpu().double()
