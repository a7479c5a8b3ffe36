"""Deletion curves of one prediction: the probability without the tokens that an attribution ranks highest.

DeYoung et al. 2020, "ERASER": delete the top k tokens, r_k, and compare the prediction with that for the whole input,

    comprehensiveness_k = m(x) - m(x \\ r_k),        AOPC = 1 / (|B| + 1) * sum over k in {0} and B,

the area over the perturbation curve (Samek et al. 2017). Their m is the probability of the prediction. Here it is p(A),
or with a B the probability of A if A and B were the only two tokens, p(A) / (p(A) + p(B)). B are shares of the tokens,
10 % to 50 %, rounded up. Deleted tokens are left out of the source or of the prefix, so that the model reads a shorter
input, as Yin & Neubig 2022 do for translation. Only tokens of the sentence and of its translation are deleted: never
`<s>` and `</s>`, nor codes of languages and words of a task, which are no part of it. No method computes that deletion
itself: occlusion leaves an unknown token in its place.

The control is the mean over random orders, different ones for each prediction.
"""

import math
import random
from collections.abc import Collection, Mapping, Sequence
from statistics import fmean

import torch
from torch import Tensor

from core.analysis.attribution.attribute import ContrastAttribution
from core.analysis.attribution.contrast import BLOCK_TOKENS, Contrast, contrast_of
from core.analysis.attribution.contrast_methods import NAMES, SIGNED, ContrastMethod
from core.analysis.declaration import Columns
from core.analysis.pictures import Curve, Curves
from core.text.phrases import Number, Phrase, marked

SHARES = (0.1, 0.2, 0.3, 0.4, 0.5)  # of the tokens that are deleted
RANDOM = "random"  # name of the control
RANDOM_ORDERS = 40
METHOD_NAMES: Mapping[str, str] = {
    **{method: names[0] for method, names in NAMES.items()},
    RANDOM: marked("Random order"),
}
DeletionCurves = Mapping[str, tuple[float, ...]]  # probabilities with none and with each of `SHARES` deleted, by method


@torch.inference_mode()
def probabilities_without(contrast: Contrast, deletions: Sequence[Collection[int]]) -> list[float]:
    """m after tokens have been deleted, see the module docstring.

    Args:
        deletions: each a set of indices in `contrast.tokens`.

    Raises:
        ValueError: a token is to be deleted that is not of the sentence or its translation.
    """
    ordinary, num_source = set(contrast.ordinary), len(contrast.source_ids)
    wanted = [frozenset(deletion) for deletion in deletions]
    if strange := sorted(frozenset().union(*wanted) - ordinary):
        raise ValueError(
            f"token {strange[0]} cannot be deleted: it is not one of the {len(ordinary)} tokens of the sentence and "
            f"its translation"
        )
    different = sorted(set(wanted), key=lambda deletion: (len(deletion), sorted(deletion)))  # little padding
    probabilities, translator = dict[frozenset[int], float](), contrast.translator
    size = max(1, BLOCK_TOKENS // len(contrast.tokens))
    for start in range(0, len(different), size):
        block = different[start : start + size]
        # A source of a model without `</s>` keeps one token
        sources = [_without(contrast.source_ids, 0, deleted) or contrast.source_ids[-1:] for deleted in block]
        prefixes = [_without(contrast.prefix_ids, num_source, deleted) for deleted in block]
        with translator.inspect() as model:
            source_ids = translator.batch(sources)
            states = model.decode(translator.batch(prefixes), model.encode(source_ids), model.source_mask(source_ids))
            last = states[torch.arange(len(block)), [len(prefix) - 1 for prefix in prefixes]]
            logits = model.project(last)
        probabilities.update(zip(block, _probability(logits, contrast).tolist(), strict=True))
    return [probabilities[deletion] for deletion in wanted]


def _without(token_ids: Sequence[int], first: int, deleted: Collection[int]) -> list[int]:
    """Token ids without those whose index, counted from `first`, is in `deleted`."""
    return [token_id for index, token_id in enumerate(token_ids, start=first) if index not in deleted]


def _probability(logits: Tensor, contrast: Contrast) -> Tensor:
    """m of logits [B, V]: [B]."""
    output = contrast_of(logits, contrast.token, contrast.against)
    return output.exp() if contrast.against is None else output.sigmoid()


def ranked_tokens(scores: Tensor, contrast: Contrast) -> list[int]:
    """Indices of all but special tokens, the highest score first and, of equal scores, the earlier token first."""
    return sorted(contrast.ordinary, key=lambda index: -float(scores[index]))


def deletion_curves(attribution: ContrastAttribution, num_random: int = RANDOM_ORDERS, seed: int = 0) -> DeletionCurves:
    """m with none and with each of `SHARES` of the tokens deleted, for every method and for tokens deleted at random.

    Args:
        num_random: number of random orders.
        seed: of these orders, which differ between predictions.

    Raises:
        ValueError: there are no tokens to delete.
    """
    contrast = attribution.contrast
    if not contrast.ordinary:
        raise ValueError("there is nothing to delete: the sentence has special tokens only")
    shuffled = random.Random(f"{seed} {contrast.source_ids} {contrast.prefix_ids}")
    orders = [ranked_tokens(scores, contrast) for scores in attribution.scores.values()]
    orders += [shuffled.sample(contrast.ordinary, len(contrast.ordinary)) for _ in range(num_random)]
    counts = [0, *(math.ceil(share * len(contrast.ordinary)) for share in SHARES)]
    values = probabilities_without(contrast, [order[:count] for order in orders for count in counts])
    curves = [tuple(values[start : start + len(counts)]) for start in range(0, len(values), len(counts))]
    at_random = tuple(fmean(points) for points in zip(*curves[len(attribution.scores) :], strict=True))
    return {**dict(zip(attribution.scores, curves, strict=False)), RANDOM: at_random}


def curves_table(curves: DeletionCurves) -> Columns:
    """A row for each share of deleted tokens, and a column for each method."""
    return {"deleted": [0.0, *SHARES], **{method: list(values) for method, values in curves.items()}}


def curves_picture(curves: DeletionCurves) -> Curves:
    """A line for each method, and one for random orders."""
    places = [0.0, *SHARES]
    return Curves(
        title=Phrase(marked("Probability without the tokens that a method ranks highest")),
        axis=Phrase(marked("p(A), with a B p(A) / (p(A) + p(B))")),
        below=Phrase(marked("share of the tokens deleted")),
        names=[(share, Number(share, ".0%")) for share in places],
        limits=(0.0, 1.0),
        curves=[
            Curve(
                name=Phrase(METHOD_NAMES[method]),
                places=places,
                values=values,
                color=None if method == RANDOM else list(METHOD_NAMES).index(method),
                dash="dash" if method == RANDOM else "solid" if method in SIGNED else "dot",
            )
            for method, values in curves.items()
        ],
    )


def methods_table(result: ContrastAttribution, curves: DeletionCurves) -> Columns:
    """A row for each method: AOPC on this sentence, and sum and completeness gap of scores in nats."""
    in_nats: list[ContrastMethod] = [method for method in SIGNED if method in curves]
    sums: dict[str, float] = {method: float(result.scores[method].sum()) for method in in_nats}
    gaps: dict[str, float] = {method: result.gap(method) for method in in_nats}
    return {
        "method": list(curves),
        "aopc": [area_over_curve(curve) for curve in curves.values()],
        "sum": [sums.get(method) for method in curves],
        "gap": [gaps.get(method) for method in curves],
    }


def area_over_curve(curve: Sequence[float]) -> float:
    """AOPC of DeYoung et al. 2020: mean fall of m over the points of a curve, the undisturbed one included."""
    return fmean(curve[0] - value for value in curve)
