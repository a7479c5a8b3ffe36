"""Faithfulness of attributions: do the tokens ranked highest matter most?

DeYoung et al. 2020, "ERASER": delete the top k tokens, r_k, and compare the prediction with that for the whole input,

    comprehensiveness_k = m(x) - m(x \\ r_k),        AOPC = 1 / (|B| + 1) * sum over k in {0} and B,

the area over the perturbation curve (Samek et al. 2017). Their m is the probability of the prediction. Here it is p(A),
or with a B the probability of A if A and B were the only two tokens, p(A) / (p(A) + p(B)). B are shares of the tokens,
10 % to 50 %, rounded up. Deleted tokens are left out of the source or of the prefix, so that the model reads a shorter
input, as Yin & Neubig 2022 do for translation. Only tokens of the sentence and of its translation are deleted: never
`<s>` and `</s>`, nor codes of languages and words of a task, which are no part of it. No method computes that deletion
itself: occlusion leaves an unknown token in its place.

The control is the mean over random orders, different ones for each prediction. A method is faithful to the model if its
curve falls further than that of the control. Deletion makes inputs that the model was never trained on, so curves
compare methods and prove none.
"""

import math
import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from statistics import fmean

import torch
from torch import Tensor

from core.analysis.attribution.contrast import BLOCK_TOKENS, Contrast, contrast_at, contrast_of, runner_up
from core.analysis.attribution.contrast_methods import ContrastAttribution, ContrastMethod, attribute_contrast
from core.analysis.attribution.paired_differences import (
    LEVEL,
    PairedDifference,
    holm,
    paired_difference,
    standard_error,
)
from core.analysis.declaration import Columns
from core.text.byte_pieces import is_special
from core.text.sentences import naming_sentence
from core.translator import Translator

SHARES = (0.1, 0.2, 0.3, 0.4, 0.5)  # of the tokens that are deleted
RANDOM = "random"  # name of the control
RANDOM_ORDERS = 40
Curves = Mapping[str, tuple[float, ...]]  # probabilities with none and with each of `SHARES` deleted, by method


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


def deletion_curves(attribution: ContrastAttribution, num_random: int = RANDOM_ORDERS, seed: int = 0) -> Curves:
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


def area_over_curve(curve: Sequence[float]) -> float:
    """AOPC of DeYoung et al. 2020: mean fall of m over the points of a curve, the undisturbed one included."""
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

    A sentence is translated greedily. One of its tokens, chosen at random, is A; the most probable other token is B.
    Incremental: stop iterating to cancel the rest.

    Args:
        contrastive: without it there is no B.
        seed: of the choice of tokens and of the random orders; both depend on the sentence and not on the others.

    Yields:
        An example for each sentence, in order; none for a translation without any token that is predicted but `</s>`.

    Raises:
        ValueError: a sentence cannot be translated; its number is named.
    """
    for number, sentence in enumerate(sentences, start=1):
        with naming_sentence(number):
            target = translator.translate(sentence, beam_size=1, length_penalty=0).hypotheses[0]
        forced = translator.codec.num_forced(target.token_ids, sentence)
        ordinary = [place for place, token in enumerate(target.tokens) if place >= forced and not is_special(token)]
        if not ordinary:
            continue
        position = random.Random(f"{seed} {sentence}").choice(ordinary)
        against = runner_up(contrast_at(translator, sentence, target.token_ids, position)) if contrastive else None
        attribution = attribute_contrast(
            translator, sentence, target.token_ids, position, against=against, methods=methods
        )
        other = None if against is None else translator.codec.piece(against)
        yield Example(sentence, target.tokens[position], other, deletion_curves(attribution, seed=seed))


def measured_curves(
    translator: Translator, sentences: Sequence[str], contrastive: bool = True, count: int | None = None
) -> list[Curves]:
    """The curves of `sample_curves`, of all examples or of the first ones."""
    return [example.curves for example in islice(sample_curves(translator, sentences, contrastive), count)]


@dataclass(frozen=True)
class Faithfulness:
    """AOPC of one method over the examples of a sample.

    Attributes:
        aopc: mean.
        error: standard error of that mean; NaN for one example.
        above_random: difference from the control, example by example; its p-value is corrected for the number of
            methods (`holm`). 0 for the control itself.
        beats_random: whether that difference is above 0 and its p-value at most `LEVEL`.
        is_best: whether the best method is not shown to be better, see `Ranking`.
    """

    method: str
    aopc: float
    error: float
    above_random: PairedDifference
    beats_random: bool
    is_best: bool


@dataclass(frozen=True)
class Ranking:
    """Methods by their mean AOPC over a sample.

    The largest of several means is too large by chance. So the best method is chosen on one half of the examples (the
    first, third, and so on) and measured on the other, and the other way round. There all methods are compared with it,
    example by example.

    Attributes:
        methods: by their mean over all examples, the control included; largest first.
        best: methods with the largest mean over the first and over the second half, once if they are the same.
        best_aopc: mean over all examples of the method chosen on the half that does not have them; NaN for one example.
        num_examples: how many examples there are.
    """

    methods: tuple[Faithfulness, ...]
    best: tuple[str, ...]
    best_aopc: float
    num_examples: int

    def table(self) -> Columns:
        """A row for each method."""
        return {
            "method": [each.method for each in self.methods],
            "aopc": [each.aopc for each in self.methods],
            "standard_error": [each.error for each in self.methods],
            "above_random": [each.above_random.mean for each in self.methods],
            "low": [each.above_random.low for each in self.methods],
            "high": [each.above_random.high for each in self.methods],
            "p_value": [each.above_random.p_value for each in self.methods],
            "beats_random": [each.beats_random for each in self.methods],
            "is_best": [each.is_best for each in self.methods],
        }

    def summary(self) -> str:
        """The best method, and how good it is where it was not chosen."""
        return (
            f"best on one half of {self.num_examples} predictions: {' and '.join(self.best)}; AOPC on the other half: "
            f"{self.best_aopc:.4f}"
        )


def rank_methods(examples: Sequence[Curves]) -> Ranking:
    """Compare methods by their AOPC on the same examples, the control included.

    Raises:
        ValueError: there are no examples.
    """
    if not examples:
        raise ValueError("methods are ranked by a mean over examples: give at least one")
    areas = {method: [area_over_curve(curves[method]) for curves in examples] for method in examples[0]}
    control, methods = areas[RANDOM], [method for method in areas if method != RANDOM]
    above = _compared({method: (areas[method], control) for method in methods})
    halves = [slice(start, None, 2) for start in range(min(2, len(examples)))]
    best = [max(methods, key=lambda method, half=half: fmean(areas[method][half])) for half in halves]
    held_out = [areas[best[1 - number % 2]][number] for number in range(len(examples))] if len(best) > 1 else []
    behind = _compared({method: (held_out, areas[method]) for method in methods} if held_out else {})
    ranked = [
        Faithfulness(
            method,
            fmean(values),
            standard_error(values),
            above.get(method, PairedDifference(0.0, 0.0, 0.0, 1.0)),
            beats_random=method in above and _is_above(above[method]),
            is_best=method != RANDOM and not (method in behind and _is_above(behind[method])),
        )
        for method, values in areas.items()
    ]
    ranked.sort(key=lambda each: -each.aopc)
    return Ranking(tuple(ranked), tuple(dict.fromkeys(best)), fmean(held_out) if held_out else math.nan, len(examples))


def _compared(pairs: Mapping[str, tuple[Sequence[float], Sequence[float]]]) -> dict[str, PairedDifference]:
    """Differences with p-values that are corrected for the number of pairs."""
    differences = {name: paired_difference(*both) for name, both in pairs.items()}
    adjusted = holm([each.p_value for each in differences.values()])
    return {
        name: replace(each, p_value=value) for (name, each), value in zip(differences.items(), adjusted, strict=True)
    }


def _is_above(difference: PairedDifference) -> bool:
    return difference.mean > 0 and difference.p_value <= LEVEL


def mean_curves(examples: Sequence[Curves]) -> Curves:
    """Mean of the curves of several examples, by method."""
    return {
        method: tuple(fmean(points) for points in zip(*(curves[method] for curves in examples), strict=True))
        for method in examples[0]
    }
