"""Faithfulness of attributions: do the tokens ranked highest matter most?

DeYoung et al. 2020, "ERASER": delete the top k tokens, r_k, and compare the prediction with that for the whole input,

    comprehensiveness_k = m(x) - m(x \\ r_k),        AOPC = 1 / (|B| + 1) * sum over k in {0} and B,

the area over the perturbation curve (Samek et al. 2017). Their m is the probability of the prediction. Here it is p(A),
or with a B the probability of A if A and B were the only two tokens, p(A) / (p(A) + p(B)). B are shares of the tokens,
10 % to 50 %, rounded up. Deleted tokens are left out of the source or of the prefix, so that the model reads a shorter
input, as Yin & Neubig 2022 do for translation; `<s>` and `</s>` are never deleted. No method computes that deletion
itself: occlusion leaves an unknown token in its place.

The control is the mean over random orders. A method is faithful to the model if its curve falls further than that of
the control. Deletion makes inputs that the model was never trained on, so curves compare methods and prove none.
"""

import math
import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

import torch
from torch import Tensor

from core.analysis.attribution.contrast import BLOCK_TOKENS, Contrast, contrast_at, contrast_of, runner_up
from core.analysis.attribution.contrast_methods import ContrastAttribution, ContrastMethod, attribute_contrast
from core.batch_translator import naming_sentence
from core.byte_pieces import is_special
from core.translator import Translator

SHARES = (0.1, 0.2, 0.3, 0.4, 0.5)  # of the tokens that are deleted
RANDOM = "random"  # name of the control
RANDOM_ORDERS = 5
Curves = Mapping[str, tuple[float, ...]]  # probabilities with none and with each of `SHARES` deleted, by method


@torch.inference_mode()
def probabilities_without(contrast: Contrast, deletions: Sequence[Collection[int]]) -> list[float]:
    """m after tokens have been deleted, see the module docstring.

    Args:
        deletions: each a set of indices in `contrast.tokens`.

    Raises:
        ValueError: a special token is to be deleted, or there is no such token.
    """
    ordinary, num_source = set(contrast.ordinary), len(contrast.source_ids)
    wanted = [frozenset(deletion) for deletion in deletions]
    if strange := sorted(frozenset().union(*wanted) - ordinary):
        raise ValueError(
            f"token {strange[0]} cannot be deleted: it is special, or not one of the {len(contrast.tokens)} tokens"
        )
    different = list(dict.fromkeys(wanted))
    found, translator = dict[frozenset[int], float](), contrast.translator
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
        found.update(zip(block, _probability(logits, contrast).tolist(), strict=True))
    return [found[deletion] for deletion in wanted]


def _without(token_ids: Sequence[int], first: int, deleted: Collection[int]) -> list[int]:
    """Token ids without those whose index, counted from `first`, is in `deleted`."""
    return [token_id for index, token_id in enumerate(token_ids, start=first) if index not in deleted]


def _probability(logits: Tensor, contrast: Contrast) -> Tensor:
    """m of logits [B, V]: [B]."""
    output = contrast_of(logits, contrast.token, contrast.against)
    return output.exp() if contrast.against is None else output.sigmoid()


def ranked_tokens(scores: Tensor, contrast: Contrast) -> list[int]:
    """Indices of all but special tokens, the highest score first.

    Where scores are equal, the earlier token comes first.
    """
    return sorted(contrast.ordinary, key=lambda index: -float(scores[index]))


def deletion_curves(found: ContrastAttribution, num_random: int = RANDOM_ORDERS, seed: int = 0) -> Curves:
    """m with none and with each of `SHARES` of the tokens deleted.

    There is a curve for every method, and one for tokens deleted at random.

    Raises:
        ValueError: there are no tokens to delete.
    """
    contrast = found.contrast
    if not contrast.ordinary:
        raise ValueError("there is nothing to delete: the sentence has special tokens only")
    shuffled = random.Random(seed)
    orders = [ranked_tokens(scores, contrast) for scores in found.scores.values()]
    orders += [shuffled.sample(contrast.ordinary, len(contrast.ordinary)) for _ in range(num_random)]
    counts = [0, *(math.ceil(share * len(contrast.ordinary)) for share in SHARES)]
    values = probabilities_without(contrast, [order[:count] for order in orders for count in counts])
    curves = [tuple(values[start : start + len(counts)]) for start in range(0, len(values), len(counts))]
    at_random = tuple(fmean(points) for points in zip(*curves[len(found.scores) :], strict=True))
    return {**dict(zip(found.scores, curves, strict=False)), RANDOM: at_random}


def area_over_curve(curve: Sequence[float]) -> float:
    """AOPC of DeYoung et al. 2020: mean fall of m over the points of a curve.

    The undisturbed point is included.
    """
    return fmean(curve[0] - value for value in curve)


@dataclass(frozen=True)
class Example:
    """Deletion curves of one prediction of a sample."""

    source: str
    token: str
    against: str | None
    curves: Curves


def sample_curves(
    translator: Translator,
    sentences: Sequence[str],
    contrastive: bool = True,
    methods: Sequence[ContrastMethod] | None = None,
    seed: int = 0,
) -> Iterator[Example]:
    """Deletion curves of one prediction in each sentence.

    A sentence is translated greedily. One of its tokens, chosen at random but the same for equal seeds, is A; the most
    probable other token is B. Incremental: stop iterating to cancel the rest.

    Args:
        contrastive: without it there is no B.

    Yields:
        An example for each sentence, in order; none for a translation without any token but `</s>`.

    Raises:
        ValueError: a sentence cannot be translated; its number is named.
    """
    chosen = random.Random(seed)
    for number, sentence in enumerate(sentences, start=1):
        with naming_sentence(number):
            target = translator.translate(sentence, beam_size=1, length_penalty=0).hypotheses[0]
        ordinary = [position for position, token in enumerate(target.tokens) if not is_special(token)]
        if not ordinary:
            continue
        position = chosen.choice(ordinary)
        against = runner_up(contrast_at(translator, sentence, target.token_ids, position)) if contrastive else None
        found = attribute_contrast(translator, sentence, target.token_ids, position, against=against, methods=methods)
        other = None if against is None else translator.piece(against)
        yield Example(sentence, target.tokens[position], other, deletion_curves(found))


@dataclass(frozen=True)
class Faithfulness:
    """AOPC of one method over the examples of a sample.

    Attributes:
        aopc: mean.
        error: standard error of that mean; NaN for one example.
        is_best: whether the best mean is not larger by more than two standard errors of the difference, example by
            example.
        beats_random: whether the mean is larger than the control's by more than that.
    """

    method: str
    aopc: float
    error: float
    is_best: bool
    beats_random: bool


def rank_methods(examples: Sequence[Curves]) -> list[Faithfulness]:
    """Rank methods by their mean AOPC, the control included; best first.

    Raises:
        ValueError: there are no examples.
    """
    if not examples:
        raise ValueError("methods are ranked by a mean over examples: give at least one")
    areas = {method: [area_over_curve(curves[method]) for curves in examples] for method in examples[0]}
    means = {method: fmean(values) for method, values in areas.items()}
    best = max(means, key=means.__getitem__)
    return [
        Faithfulness(
            method,
            means[method],
            _standard_error(areas[method]),
            is_best=not _is_larger(areas[best], areas[method]),
            beats_random=RANDOM in areas and _is_larger(areas[method], areas[RANDOM]),
        )
        for method in sorted(means, key=lambda method: -means[method])
    ]


def _is_larger(first: Sequence[float], second: Sequence[float]) -> bool:
    """Whether paired differences have a mean above two standard errors.

    A single pair is never enough.
    """
    differences = [one - other for one, other in zip(first, second, strict=True)]
    return fmean(differences) > 2 * _standard_error(differences)


def _standard_error(values: Sequence[float]) -> float:
    return stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan


def mean_curves(examples: Sequence[Curves]) -> Curves:
    """Mean of the curves of several examples, by method."""
    return {
        method: tuple(fmean(points) for points in zip(*(curves[method] for curves in examples), strict=True))
        for method in examples[0]
    }
