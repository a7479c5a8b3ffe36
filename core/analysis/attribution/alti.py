"""ALTI: contributions of tokens from a decomposition of attention sub-layers.

Ferrando et al. 2022: "Measuring the Mixing of Contextual Information in the Transformer" (encoder), and "Towards
Opening the Black Box of Neural Machine Translation" (decoder: source and prefix). The feed-forward network acts on each
position alone and moves nothing between tokens, so it is left out, as in the papers.

If no part of a row is nearer to the output than the zero vector, all contributions are 0, and neither the papers nor
their code (mt-upc/transformer-contributions, mt-upc/transformer-contributions-nmt) defines the shares: the code divides
0 by 0. Here the nearest part has the whole share, divided equally among ties. This is the limit of the shares as the
last contribution approaches 0, and the row still sums to 1, which rollout requires.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from core.analysis.agreement import require_agreement
from core.analysis.attribution import rollout
from core.analysis.attribution.forward_trace import ForwardTrace, SubLayer
from core.analysis.linear_norm import centred, norm_bias, squared_scale
from core.trace import Kind, attention_place


@dataclass(frozen=True)
class Decomposition:
    """The output of an attention sub-layer as a sum of parts.

    With the standard deviation s_i of row i held fixed, LayerNorm is linear, L(u) = gamma * (u - mean(u)) / s_i (in an
    RMSNorm without the mean, and s_i the root of the mean square), and

        y_i = sum_j T_i(x_j) + L(b_O) + beta,    T_i(x_j) = L(sum_h a_hij f_h(x_j)),

    where the residual connection adds L(x_i) (Ferrando et al. 2022). If the norm is on the input of the sub-layer
    instead, the output is a sum already: L is the identity, beta is 0, and x_j in T_i is the normalised input.
    """

    sublayer: SubLayer
    values: Tensor  # [H, K, D] gamma * (f_h(x_j) - mean): the part of a head, before attention and scale
    residual: Tensor  # [Q, D] gamma * (x_i - mean), before scale
    scale: Tensor  # [Q, 1] 1 / s_i
    constant: Tensor  # [Q, D] L(b_O) + beta, which belongs to no token

    def parts(self, rows: slice) -> tuple[Tensor, Tensor]:
        """Parts of some rows of the output.

        Returns:
            T_i(x_j) of all keys, without the residual, [rows, K, D]; the part of the residual, [rows, D].
        """
        mixed = torch.einsum("hqk,hkd->qkd", self.sublayer.weights[:, rows], self.values)
        return mixed.mul_(self.scale[rows, None]), self.residual[rows] * self.scale[rows]


@torch.inference_mode()
def decompose(sublayer: SubLayer) -> Decomposition:
    """Decompose the output of a sub-layer.

    Raises:
        DisagreementError: the parts do not sum to the model's output: the sub-layer computes something else.
    """
    norm, bias = sublayer.norm, sublayer.bias
    transformed, x = sublayer.transformed(), sublayer.x

    def linear(vectors: Tensor) -> Tensor:
        return norm.weight * centred(norm, vectors) if norm else vectors

    before = x + torch.einsum("hqk,hkd->qd", sublayer.weights, transformed) + bias
    scale = squared_scale(norm, before).rsqrt() if norm else torch.ones_like(before[:, :1])
    constant = linear(bias) * scale + (norm_bias(norm) if norm else 0)
    total = linear(before - bias) * scale + constant
    place = attention_place(sublayer.map.kind, sublayer.map.layer, "residual_after")
    require_agreement(f"{place}, as the sum of its parts", total, sublayer.output, depth=3)
    return Decomposition(sublayer, linear(transformed), linear(x), scale, constant)


@torch.inference_mode()
def contributions(sublayer: SubLayer) -> Tensor:
    """Contribution of each key to each output (Ferrando et al. 2022).

    c_ij = max(0, ||y_i||_1 - ||y_i - T_i(x_j)||_1), each row divided by its sum: the nearer a part is to the whole, the
    more it contributes. In self-attention the residual is part of the token's own T_i(x_i); in cross-attention it comes
    from the decoder and is a separate part. Masked keys are not parts. For rows of zeros, see the module docstring.

    Returns:
        [Q, Q] in self-attention, [Q, K + 1] in cross-attention with the residual last; rows sum to 1.

    Raises:
        DisagreementError: as `decompose`.
    """
    whole = decompose(sublayer)
    blocks: list[Tensor] = []
    for rows in sublayer.row_blocks():
        output = sublayer.output[rows]
        norm = output.abs().sum(-1, keepdim=True)  # [rows, 1]
        parts, residual = whole.parts(rows)
        if sublayer.map.kind == "cross":
            distance = torch.cat((_distance(output, parts), (output - residual).abs().sum(-1, keepdim=True)), dim=1)
        else:
            row = torch.arange(len(residual), device=residual.device)
            parts[row, row + rows.start] += residual
            distance = _distance(output, parts).masked_fill_(~sublayer.map.visible[rows].to(residual.device), torch.inf)
        nearness = norm - distance
        nearest = nearness == nearness.amax(-1, keepdim=True)
        blocks.append(torch.where((nearness > 0).any(-1, keepdim=True), nearness.clamp_min(0), nearest.to(nearness)))
    return rollout.row_shares(torch.cat(blocks))


def _distance(output: Tensor, parts: Tensor) -> Tensor:
    """||y_i - T_i(x_j)||_1: [rows, D], [rows, K, D] -> [rows, K]. Overwrites `parts`."""
    return parts.sub_(output[:, None]).abs_().sum(-1)


def contribution_maps(trace: ForwardTrace) -> tuple[rollout.RolledMaps, rollout.RolledMaps]:
    """Contributions within each layer, and rolled out to the input; one head each.

    Within a layer, a row of `cross` sums to less than 1; the rest belongs to the residual. The rollout of
    `roll_out_decoder` uses D = (the residual's share of the cross-attention) * (contributions in the self-attention
    below it) and C = contributions of the memory: a row of `cross` and `decoder_self` together sums to 1, and
    `source_share` is the share of the source in a predicted token.

    Returns:
        The maps within layers, and the rolled-out maps.

    Raises:
        DisagreementError: as `decompose`.
    """
    by_kind: dict[Kind, list[Tensor]] = {
        kind: [contributions(sublayer) for sublayer in layers] for kind, layers in trace.sublayers.items()
    }
    maps = trace.explanation.maps
    cross = [layer[:, :-1] for layer in by_kind["cross"]]
    prefix = [both[:, -1:] * own for both, own in zip(by_kind["cross"], by_kind["decoder_self"], strict=True)]
    encoder = rollout.roll_out(by_kind["encoder_self"])
    within: dict[Kind, list[Tensor]] = {**by_kind, "cross": cross}
    layerwise: rollout.RolledMaps = {
        kind: tuple(rollout.single_head_map(maps[kind][i], matrix) for i, matrix in enumerate(layers))
        for kind, layers in within.items()
    }
    return layerwise, rollout.rolled_maps(maps, encoder, rollout.roll_out_decoder(prefix, cross, encoder[-1]))
