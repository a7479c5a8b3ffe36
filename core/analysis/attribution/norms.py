"""Norm-weighted attention: the norms of the vectors that attention adds up."""

from dataclasses import replace

import torch
from torch import Tensor

from core.analysis.attribution.forward_trace import ForwardTrace, SubLayer
from core.analysis.attribution.rollout import RolledMaps, row_shares


@torch.inference_mode()
def head_norms(sublayer: SubLayer) -> Tensor:
    """||a_ij f(x_j)|| of every head, [H, Q, K], in the units of the hidden states, with f(x) = (x W_V + b_V) W_O.

    Kobayashi et al. 2020, "Attention is Not Only a Weight": a key with a short transformed vector always adds little.
    """
    return sublayer.weights * _norm(sublayer.transformed())[:, None, :]


@torch.inference_mode()
def layer_norms(sublayer: SubLayer) -> Tensor:
    """||sum_h a_hij f_h(x_j)|| [Q, K]: norm of each key's vector over all heads (Kobayashi et al. 2020).

    Vectors of different heads may cancel, so it is at most the sum of `head_norms`.
    """
    weights, transformed = sublayer.weights, sublayer.transformed()
    blocks = (torch.einsum("hqk,hkd->qkd", weights[:, rows], transformed) for rows in sublayer.row_blocks())
    return torch.cat([_norm(block) for block in blocks])


def _norm(vectors: Tensor) -> Tensor:
    """Euclidean norm: [..., D] -> [...]."""
    return vectors.square().sum(-1).sqrt()


def norm_maps(trace: ForwardTrace) -> RolledMaps:
    """`head_norms` of every layer as attention maps, each row divided by its sum."""
    return {
        kind: tuple(
            replace(sublayer.map, weights=row_shares(head_norms(sublayer)).float().cpu()) for sublayer in sublayers
        )
        for kind, sublayers in trace.sublayers.items()
    }
