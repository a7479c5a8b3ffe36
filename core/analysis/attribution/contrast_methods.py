"""Contrastive attribution: the tokens behind one prediction, by several methods.

Four methods explain F = log p(A) - log p(B) of `contrast`, in nats. With g the gates there, e_j the gate of token j
alone, and F(v) as F with gates on value vectors instead of embeddings:

    integrated gradients   integral over a from 0 to 1 of dF/dg_j at a g     Sundararajan et al. 2017, equation 1
    gradient x input       dF/dg_j at g = 1                                  Yin & Neubig 2022, section 3
    occlusion              F(1) - F(1 - e_j)                                 Zeiler & Fergus 2014; Li et al. 2016
    value zeroing          F(1) - F(v = 1 - e_j)                             after Mohebbi et al. 2023

A derivative by g_j is the sum over dimensions of embedding times gradient, since x_j = g_j * embedding_j + position_j.

- Integrated gradients sum to F(1) - F(0) (completeness). F rises in a short part of the path, so the integral is
  computed by the trapezoidal rule with more points where they are needed; `ContrastAttribution.gap` is the error left.
- Occlusion replaces the embedding by zero, the baseline of integrated gradients. It does not shorten the sentence.
- Value zeroing sets the value vectors of a token to 0 in every head; the weights of the others are not renormalised.
  Mohebbi et al. change one layer at a time and measure the cosine distance of each state to what it was. To explain F,
  here all layers are changed at once, and the change of F is measured. A token's own residual connection stays.

The other four do not depend on A and B. They are the shares of the decoder row that makes the prediction, at least 0,
with sum 1 over source and prefix, so they cannot say what speaks against A:

    attention   weights of cross-attention and self-attention, averaged over heads and layers, half of the sum each
    norms       `layer_norms` of both sub-layers, divided by their sum in each layer, averaged over layers
    rollout     `attention_rollout` down to the input
    alti        ALTI, rolled out (`contribution_maps`)
"""

from collections.abc import Callable
from typing import Literal, get_args

import torch
from torch import Tensor

from core.analysis.attribution.alti import contribution_maps
from core.analysis.attribution.contrast import Contrast, Gated
from core.analysis.attribution.forward_trace import ForwardTrace
from core.analysis.attribution.norms import layer_norms
from core.analysis.attribution.rollout import attention_rollout, row_shares
from core.analysis.heads.head import Maps
from core.model.config import TransformerConfig
from core.text.phrases import marked

ContrastMethod = Literal[
    "integrated_gradients", "occlusion", "value_zeroing", "gradient_x_input", "attention", "norms", "rollout", "alti"
]
METHODS: tuple[ContrastMethod, ...] = get_args(ContrastMethod)
SIGNED: tuple[ContrastMethod, ...] = METHODS[:4]  # the methods that depend on A and B
NO_INTEGRAL = (
    "integrated gradients do not apply to a model with relative positions: it adds nothing to its embeddings, so its "
    "norms amplify what is close to the zero embedding, and the gradients there are too steep to integrate"
)
FIRST_INTERVALS, HALVED = 12, 16  # of the integral; intervals halved in one round
ENOUGH_POINTS, MOST_POINTS = 45, 128  # after the first number, only the whole sum needs to be close
CLOSE = 0.03  # gap at which the integral is close enough, as a share of F(1) - F(0) ...
CLOSE_NATS = 0.03  # ... or in nats
# of each method: its name, the same in a column of a few characters, and in one of four
NAMES: dict[ContrastMethod, tuple[str, str, str]] = {
    "integrated_gradients": (marked("Integrated gradients"), marked("Integrated"), "IG"),
    "occlusion": (marked("Occlusion"), marked("Occlusion"), "Occ"),
    "value_zeroing": (marked("Value zeroing"), marked("Zeroing"), "VZ"),
    "gradient_x_input": (marked("Gradient \u00d7 input"), marked("Grad\u00d7input"), "G\u00d7I"),
    "attention": (marked("Attention"), marked("Attention"), "Att"),
    "norms": (marked("Norm-weighted"), marked("Norm"), "Norm"),
    "rollout": (marked("Rollout"), marked("Rollout"), "Roll"),
    "alti": (marked("ALTI"), marked("ALTI"), "ALTI"),
}


def methods_of(config: TransformerConfig) -> tuple[ContrastMethod, ...]:
    """Methods that apply to a model; see `NO_INTEGRAL`."""
    return METHODS[1:] if config.relative else METHODS


def integrated_gradients(contrast: Contrast) -> tuple[Tensor, int]:
    """Integrated gradients of Sundararajan et al. 2017 from the zero embedding.

    The trapezoidal rule on intervals of the path. In each interval, scores should sum to the change of F there; the
    intervals with the largest gaps are halved until all gaps together are close to 0. With `ENOUGH_POINTS`, it suffices
    that the whole sum is close to F(1) - F(0), and there are `MOST_POINTS` at most.

    Returns:
        [S + T] scores, and the number of points.
    """
    places = new = torch.linspace(0, 1, FIRST_INTERVALS + 1, dtype=torch.float64)
    outputs, gradients = torch.empty(0), torch.empty(0, len(contrast.tokens))
    while True:
        gates = new[:, None].expand(-1, len(contrast.tokens)).to(contrast.ones())
        newest = (each.cpu().double() for each in contrast.gradients(gates))
        outputs, gradients = (torch.cat(each) for each in zip((outputs, gradients), newest, strict=True))
        order = places.argsort()
        places, outputs, gradients = places[order], outputs[order], gradients[order]
        parts = (gradients[1:] + gradients[:-1]) / 2 * places.diff()[:, None]  # [intervals, S + T]
        gaps = parts.sum(1) - outputs.diff()
        close = max(CLOSE * abs(float(outputs[-1] - outputs[0])), CLOSE_NATS)
        gap = abs(float(gaps.sum())) if len(places) >= ENOUGH_POINTS else float(gaps.abs().sum())
        number = min(HALVED, MOST_POINTS - len(places), int((gaps.abs() > close / len(gaps)).sum()))
        if gap <= close or number == 0:
            return parts.sum(0), len(places)
        worst = gaps.abs().topk(number).indices
        new = (places[worst] + places[worst + 1]) / 2
        places = torch.cat((places, new))


def gradient_x_input(contrast: Contrast) -> Tensor:
    """Gradient x input of Yin & Neubig 2022: [S + T]."""
    return contrast.gradients(contrast.ones())[1][0]


def occlusion(contrast: Contrast) -> Tensor:
    """F(1) minus F with the embedding of one token set to 0: [S + T]."""
    return _without_each(contrast, "embeddings")


def value_zeroing(contrast: Contrast) -> Tensor:
    """F(1) minus F with one token's value vectors set to 0 everywhere: [S + T]."""
    return _without_each(contrast, "values")


def _without_each(contrast: Contrast, gated: Gated) -> Tensor:
    """F(1) - F(1 - e_j) for each token, gates of source and prefix apart, as the latter share one encoder pass."""
    ones, num_source = contrast.ones(), len(contrast.source_ids)
    closed = 1 - torch.eye(ones.size(1), device=ones.device)
    without = [contrast.outputs(each, gated) for each in (closed[:num_source], closed[num_source:])]
    return contrast.outputs(ones, gated) - torch.cat(without)


DIFFERENCES: dict[ContrastMethod, Callable[[Contrast], Tensor]] = {
    "occlusion": occlusion,
    "value_zeroing": value_zeroing,
    "gradient_x_input": gradient_x_input,
}


def attention_shares(trace: ForwardTrace, position: int) -> Tensor:
    """One decoder row's attention, averaged over heads and layers: [S + T], sum 1."""
    maps = trace.explanation.maps
    source, prefix = (
        torch.stack([layer.weights[:, position].mean(0) for layer in maps[kind]]).mean(0)
        for kind in ("cross", "decoder_self")
    )
    return torch.cat((source, prefix[: position + 1])) / 2


def norm_shares(trace: ForwardTrace, position: int) -> Tensor:
    """Norms of the vectors that one decoder row adds for each token: [S + T], with sum 1.

    The norms of a layer are divided by their sum, and these shares averaged over layers.
    """
    layers = [
        torch.cat((layer_norms(cross)[position], layer_norms(own)[position, : position + 1]))
        for cross, own in zip(trace.sublayers["cross"], trace.sublayers["decoder_self"], strict=True)
    ]
    return row_shares(torch.stack(layers)).mean(0)


def _last_row(maps: Maps, position: int) -> Tensor:
    """Shares of one decoder row in the last layer: [S + T]."""
    source, prefix = (maps[kind][-1].weights[0, position] for kind in ("cross", "decoder_self"))
    return torch.cat((source, prefix[: position + 1]))


SHARES: dict[ContrastMethod, Callable[[ForwardTrace, int], Tensor]] = {
    "attention": attention_shares,
    "norms": norm_shares,
    "rollout": lambda trace, position: _last_row(attention_rollout(trace.explanation.maps), position),
    "alti": lambda trace, position: _last_row(contribution_maps(trace)[1], position),
}
