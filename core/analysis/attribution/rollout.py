"""Attention rollout: attention multiplied through the layers down to the input."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from core.analysis.heads.head import Maps
from core.capture import AttentionMap
from core.decoding import NonFiniteError
from core.trace import Kind

RolledMaps = dict[Kind, tuple[AttentionMap, ...]]


def attention_rollout(maps: Maps) -> RolledMaps:
    """Rollout of raw attention (Abnar & Zuidema 2020), extended to the decoder.

    In a stack with self-attention only, R_l = A~_l R_(l-1) with A~ = rownorm(mean_h a + I), where I stands for the
    residual connection; see `roll_out_decoder` for the decoder.

    Returns:
        A map of one head for each layer. `encoder_self`: shares of the source tokens in an encoder position. `cross`
        and `decoder_self`: shares of source and prefix tokens in a decoder position; both rows sum to 1 together.
    """
    encoder = roll_out(with_residual(layer.weights) for layer in maps["encoder_self"])
    decoder = roll_out_decoder(
        [with_residual(layer.weights) for layer in maps["decoder_self"]],
        [layer.weights.mean(0) for layer in maps["cross"]],
        encoder[-1],
    )
    return rolled_maps(maps, encoder, decoder)


def with_residual(weights: Tensor) -> Tensor:
    """rownorm(mean_h a + I): [H, Q, Q] -> [Q, Q], rows sum to 1."""
    return row_shares(weights.mean(0) + torch.eye(weights.size(-1), dtype=weights.dtype, device=weights.device))


def row_shares(matrix: Tensor) -> Tensor:
    """Divide every row by its sum; rows of zeros stay zero. [..., Q, K], non-negative.

    Raises:
        NonFiniteError: a row's sum is not finite.
    """
    total = matrix.sum(-1, keepdim=True)
    if not total.isfinite().all():
        raise NonFiniteError("for this sentence")
    return matrix / total.masked_fill(total == 0, 1.0)


def roll_out(steps: Iterable[Tensor]) -> list[Tensor]:
    """R_l = A_l R_(l-1), beginning with R_0 = I: [Q, Q] of each layer, from the steps A_l."""
    rolled: list[Tensor] = []
    for step in steps:
        rolled.append(step @ rolled[-1] if rolled else step)
    return rolled


def roll_out_decoder(prefix: Sequence[Tensor], cross: Sequence[Tensor], encoder: Tensor) -> list[tuple[Tensor, Tensor]]:
    """Rollout in a decoder, which also attends to the encoder's output.

    With D the step over the prefix, C the step to the encoder's output and E the encoder's rollout,

        R_src = D R_src + C E        R_tgt = D R_tgt        rows of [R_src, R_tgt] renormalised,

    beginning with R_src = 0 and R_tgt = I. This is the layer-wise aggregation of Ferrando et al. 2022 ("Towards Opening
    the Black Box of Neural Machine Translation") if each row of D and C together sums to 1. In raw attention each sums
    to 1, and renormalising gives both equal shares, as it does for attention and residual in an encoder.

    Args:
        prefix, cross, encoder: D [T, T] and C [T, S] of each layer, E [S, S].

    Returns:
        R_src [T, S] and R_tgt [T, T] of each layer.

    Raises:
        ValueError: `prefix` and `cross` differ in length.
    """
    if len(prefix) != len(cross):
        raise ValueError(
            f"{len(prefix)} steps over the prefix but {len(cross)} to the source: give one of each per layer"
        )
    source_length, rolled = encoder.size(0), list[tuple[Tensor, Tensor]]()
    for over_prefix, to_source in zip(prefix, cross, strict=True):
        from_source, from_prefix = to_source @ encoder, over_prefix
        if rolled:
            from_source, from_prefix = from_source + over_prefix @ rolled[-1][0], over_prefix @ rolled[-1][1]
        both = row_shares(torch.cat((from_source, from_prefix), dim=1))
        rolled.append((both[:, :source_length], both[:, source_length:]))
    return rolled


def source_share(rolled: Maps) -> tuple[float, ...]:
    """Share of the source in each decoder row after the last layer; the rest comes from the prefix.

    Row t was fed the tokens up to t and predicts token t + 1, so it is the share of that predicted token.
    """
    return tuple(float(share) for share in rolled["cross"][-1].weights[0].sum(-1))


def rolled_maps(maps: Maps, encoder: Sequence[Tensor], decoder: Sequence[tuple[Tensor, Tensor]]) -> RolledMaps:
    """Rolled-out matrices as attention maps of one head, with the tokens of `maps`.

    They have no mask: through several layers of restricted attention a position reaches beyond its neighbourhood.
    """
    matrices: dict[Kind, Sequence[Tensor]] = {
        "encoder_self": encoder,
        "decoder_self": [prefix for _, prefix in decoder],
        "cross": [source for source, _ in decoder],
    }
    return {
        kind: tuple(
            replace(single_head_map(like, matrix), mask=None) for like, matrix in zip(maps[kind], layers, strict=True)
        )
        for kind, layers in matrices.items()
    }


def single_head_map(like: AttentionMap, matrix: Tensor) -> AttentionMap:
    """A matrix [Q, K] as a map of one head, with the tokens and mask of another map."""
    return replace(like, weights=matrix[None].float().cpu())
