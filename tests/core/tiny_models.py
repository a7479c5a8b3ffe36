"""Untrained models of the preset `tiny`, without dropout."""

from dataclasses import replace
from typing import Any

import torch

from core.config import PRESETS
from core.model import Transformer

TINY = replace(PRESETS["tiny"], dropout=0.0)
PAD, BOS = TINY.pad_id, TINY.bos_id


def tiny(seed: int = 0, **changes: Any) -> Transformer:
    torch.manual_seed(seed)
    return Transformer(replace(TINY, **changes)).eval()


def unlike_fresh(model: Transformer) -> Transformer:
    """Biases and norms other than zeros and ones, so that omitting one is detected."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.1)
    return model
