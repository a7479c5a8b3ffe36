"""Untrained models of the preset `tiny`, without dropout."""

from dataclasses import replace
from typing import Any

import torch

from core.model import Transformer
from core.model.preset_configs import PRESETS

TINY = replace(PRESETS["tiny"], dropout=0.0)
PAD, BOS = TINY.pad_id, TINY.bos_id
# Every variant that only T5 v1.1 has; so few classes of distances that short sentences have shared ones.
LIKE_T5: dict[str, Any] = {
    "positions": "relative",
    "relative_buckets": 8,
    "relative_max_distance": 10,
    "norm": "pre",
    "norm_kind": "rms",
    "final_norm": True,
    "activation": "gelu_tanh",
    "gated_feed_forward": True,
    "attention_bias": False,
    "feed_forward_bias": False,
    "scale_embedding": False,
}
LIKE_UMT5 = {**LIKE_T5, "positions": "relative_per_layer"}


def tiny(seed: int = 0, **changes: Any) -> Transformer:
    torch.manual_seed(seed)
    return Transformer(replace(TINY, **changes)).eval()


def unlike_fresh(model: Transformer) -> Transformer:
    """Biases and norms other than zeros and ones, so that omitting one is detected."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.1)
    return model
