"""Relative positions: scores of self-attention that depend on the distance.

Raffel et al. 2020, "Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer" (T5), section
2.1. The paper has none; its positions are added to the embeddings (3.5).
"""

import math

import torch
from torch import Tensor, nn

from core.model.config import TransformerConfig


class RelativePositions(nn.Module):
    """Learned scores of distances, B in softmax(Q K^T / sqrt(d_k) + B).

    There is one score per head and class of distances, for all layers of a stack or for one (`positions`).

    Attributes:
        scores: [classes, H]
        bidirectional: whether queries attend to later keys, which then have classes of their own.
        max_distance: from which on all distances share a class.
    """

    def __init__(self, config: TransformerConfig, num_heads: int, bidirectional: bool) -> None:
        super().__init__()
        self.scores = nn.Embedding(config.relative_buckets, num_heads)
        self.bidirectional = bidirectional
        self.max_distance = config.relative_max_distance

    def forward(self, mask: Tensor, distances: Tensor) -> Tensor:
        """Mask that is added to the scores.

        Args:
            mask: boolean, broadcasts to [B, 1, Q, K]; True may be attended to.
            distances: [1 or B, Q, K] position of the key minus that of the query.

        Returns:
            [B, H, Q, K], minus infinity where `mask` is False.
        """
        scores = self.scores(self.classes(distances)).movedim(-1, 1)  # [B, H, Q, K]
        return scores.masked_fill(~mask, -math.inf)

    def classes(self, distances: Tensor) -> Tensor:
        """Class of each distance: integers [...] -> [...].

        Of n classes for a direction, n / 2 have one distance each; the others grow exponentially up to `max_distance`.
        """
        count = self.scores.num_embeddings // (2 if self.bidirectional else 1)
        single = count // 2
        length = distances.abs() if self.bidirectional else (-distances).clamp(min=0)
        # in float32 and in this order, as in T5, since some quotients are whole numbers but for rounding
        shared = (length.float() / single).log() / math.log(self.max_distance / single) * (count - single)
        direction_class = torch.where(length < single, length, (single + shared.long()).clamp(max=count - 1))
        return direction_class + count * (distances > 0) if self.bidirectional else direction_class


def position_distances(length: int, device: torch.device) -> Tensor:
    """Position of each key minus that of each query: [1, length, length]."""
    position = torch.arange(length, device=device)
    return (position - position[:, None])[None]
