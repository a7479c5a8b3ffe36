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

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

from core.analysis.attribution.alti import contribution_maps
from core.analysis.attribution.contrast import Contrast, contrast_at
from core.analysis.attribution.forward_trace import ForwardTrace, trace_forward
from core.analysis.attribution.norms import layer_norms
from core.analysis.attribution.rollout import attention_rollout, row_shares
from core.analysis.correlation import spearman
from core.analysis.declaration import Columns
from core.analysis.heads.head import Maps
from core.decoding import Progress
from core.model.config import TransformerConfig
from core.translator import Translator

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
TOLERANCE = 0.05  # gap up to which completeness holds, likewise: Sundararajan et al. 2017, section 5
TOLERANCE_NATS = 0.05


@dataclass(frozen=True)
class ContrastAttribution:
    """Scores of all source and prefix tokens for one prediction.

    Attributes:
        contrast: the prediction.
        output: F(1), in nats.
        baseline: F(0), in nats.
        points: of the integral of integrated gradients; 0 without them.
        scores: [S + T] by method, on the CPU.
    """

    contrast: Contrast
    output: float
    baseline: float
    points: int
    scores: Mapping[ContrastMethod, Tensor]

    def gap(self, method: ContrastMethod) -> float:
        """Completeness gap, in nats: the absolute difference between the sum of the scores and F(1) - F(0)."""
        return abs(float(self.scores[method].sum()) - (self.output - self.baseline))

    @property
    def is_complete(self) -> bool:
        """Whether integrated gradients sum to F(1) - F(0), up to `TOLERANCE`."""
        return self.gap("integrated_gradients") <= max(TOLERANCE * abs(self.output - self.baseline), TOLERANCE_NATS)

    def table(self) -> Columns:
        """A row for each token: side, position (from 0), token, and the score of each method."""
        contrast = self.contrast
        num_source, num_prefix = len(contrast.source_tokens), len(contrast.prefix_tokens)
        return {
            "side": ["source"] * num_source + ["prefix"] * num_prefix,
            "position": [*range(num_source), *range(num_prefix)],
            "token": [str(token) for token in contrast.tokens],
            **{method: scores.tolist() for method, scores in self.scores.items()},
        }

    def summary(self) -> str:
        """The output that the scores explain, and how complete they are."""
        piece, against = self.contrast.translator.tokenizer.target.piece, self.contrast.against
        minus = "" if against is None else f" - log p({piece(against)})"
        explained = (
            f"log p({piece(self.contrast.token)}){minus}: {self.output:.4f}, of the baseline {self.baseline:.4f}"
        )
        if "integrated_gradients" not in self.scores:
            return explained
        gap = self.gap("integrated_gradients")
        return f"{explained}\nintegrated gradients: gap {gap:.4f} with {self.points} points"

    def correlation(self, first: ContrastMethod, second: ContrastMethod) -> float:
        """Rank correlation of two methods over the tokens of `Contrast.ordinary`.

        Signed scores are compared with shares by their absolute values.
        """
        places = self.contrast.ordinary
        one, two = (self.scores[method][places] for method in (first, second))
        if (first in SIGNED) != (second in SIGNED):
            one, two = one.abs(), two.abs()
        return spearman(one.numpy(), two.numpy())


def methods_of(config: TransformerConfig) -> tuple[ContrastMethod, ...]:
    """Methods that apply to a model; see `NO_INTEGRAL`."""
    return METHODS[1:] if config.positions == "relative" else METHODS


def attribute_contrast(
    translator: Translator,
    source: str,
    target: str | Sequence[int],
    position: int,
    token: int | None = None,
    against: int | None = None,
    methods: Sequence[ContrastMethod] | None = None,
    progress: Progress | None = None,
) -> ContrastAttribution:
    """Attribute one prediction to the source and prefix tokens.

    Args:
        source, target, position, token, against: as for `contrast_at`.
        methods: None for `methods_of` the model.
        progress: called after each batch with the amount done and the total.

    Raises:
        ValueError: as `contrast_at`; a method is unknown, or does not apply to the model.
        NonFiniteError: an output or a gradient of the model is not finite.
        DisagreementError: ALTI cannot decompose this model, see `decompose`.
    """
    *_, attribution = contrast_steps(translator, source, target, position, token, against, methods, progress)
    return attribution


def contrast_steps(
    translator: Translator,
    source: str,
    target: str | Sequence[int],
    position: int,
    token: int | None = None,
    against: int | None = None,
    methods: Sequence[ContrastMethod] | None = None,
    progress: Progress | None = None,
) -> Iterator[ContrastAttribution]:
    """Attribute one prediction as `attribute_contrast`, method by method; stop iterating to cancel the rest.

    Yields:
        The attribution without scores, then with those of one more method each.
    """
    offered = methods_of(translator.config)
    methods = offered if methods is None else methods
    for method in methods:
        if method not in METHODS:
            raise ValueError(f"there is no method {method!r}: give one of {', '.join(METHODS)}")
        if method not in offered:
            raise ValueError(f"{NO_INTEGRAL}. Give one of {', '.join(offered)}")
    contrast = contrast_at(translator, source, target, position, token, against)
    ones = contrast.ones()
    output, baseline = contrast.outputs(torch.cat((ones, 0 * ones))).tolist()
    points, trace = 0, None
    scores: dict[ContrastMethod, Tensor] = {}
    yield ContrastAttribution(contrast, output, baseline, points, scores)
    for number, method in enumerate(methods):

        def in_method(done: int, total: int, number: int = number) -> None:
            if progress:
                progress(100 * number + 100 * done // total, 100 * len(methods))

        if method == "integrated_gradients":
            method_scores, points = integrated_gradients(contrast, in_method)
        elif method in SIGNED:
            method_scores = _DIFFERENCES[method](contrast, in_method)
        else:
            trace = trace or trace_forward(translator, source, target)
            method_scores = _SHARES[method](trace, position)
        scores = {**scores, method: method_scores.float().cpu()}
        yield ContrastAttribution(contrast, output, baseline, points, scores)


def integrated_gradients(contrast: Contrast, progress: Progress | None = None) -> tuple[Tensor, int]:
    """Integrated gradients of Sundararajan et al. 2017 from the zero embedding.

    The trapezoidal rule on intervals of the path. In each interval, scores should sum to the change of F there; the
    intervals with the largest gaps are halved until all gaps together are close to 0. With `ENOUGH_POINTS`, it suffices
    that the whole sum is close to F(1) - F(0), and there are `MOST_POINTS` at most.

    Args:
        progress: called with the number of points computed and `MOST_POINTS`.

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
        if progress:
            progress(len(places), MOST_POINTS)
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


def gradient_x_input(contrast: Contrast, progress: Progress | None = None) -> Tensor:
    """Gradient x input of Yin & Neubig 2022: [S + T]."""
    return contrast.gradients(contrast.ones(), progress)[1][0]


def occlusion(contrast: Contrast, progress: Progress | None = None) -> Tensor:
    """F(1) minus F with the embedding of one token set to 0: [S + T]."""
    return _without_each(contrast, lambda gates: contrast.outputs(gates, "embeddings", progress))


def value_zeroing(contrast: Contrast, progress: Progress | None = None) -> Tensor:
    """F(1) minus F with one token's value vectors set to 0 everywhere: [S + T]."""
    return _without_each(contrast, lambda gates: contrast.outputs(gates, "values", progress))


def _without_each(contrast: Contrast, outputs: Callable[[Tensor], Tensor]) -> Tensor:
    """F(1) - F(1 - e_j) for each token, gates of source and prefix apart, as the latter share one encoder pass."""
    ones, num_source = contrast.ones(), len(contrast.source_ids)
    closed = 1 - torch.eye(ones.size(1), device=ones.device)
    return outputs(ones) - torch.cat((outputs(closed[:num_source]), outputs(closed[num_source:])))


_DIFFERENCES: dict[ContrastMethod, Callable[[Contrast, Progress], Tensor]] = {
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


def rollout_shares(trace: ForwardTrace, position: int) -> Tensor:
    """Attention rollout of one decoder row: [S + T], with sum 1."""
    return _last_row(attention_rollout(trace.explanation.maps), position)


def alti_shares(trace: ForwardTrace, position: int) -> Tensor:
    """ALTI of one decoder row, rolled out: [S + T], with sum 1."""
    return _last_row(contribution_maps(trace)[1], position)


def _last_row(maps: Maps, position: int) -> Tensor:
    """Shares of one decoder row in the last layer: [S + T]."""
    source, prefix = (maps[kind][-1].weights[0, position] for kind in ("cross", "decoder_self"))
    return torch.cat((source, prefix[: position + 1]))


_SHARES: dict[ContrastMethod, Callable[[ForwardTrace, int], Tensor]] = {
    "attention": attention_shares,
    "norms": norm_shares,
    "rollout": rollout_shares,
    "alti": alti_shares,
}
