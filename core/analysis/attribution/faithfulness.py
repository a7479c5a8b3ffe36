"""The analysis `faithfulness`: are the tokens that an attribution method ranks highest those that matter most?

Over a sample of predictions, each with its `deletion_curves`: a method is faithful to the model if its curve falls
further than that of the control. Deletion makes inputs unlike the training's, so curves compare methods and prove none.
"""

import math
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from statistics import fmean

from tqdm import tqdm

from core.analysis.attribution.attribute import METHODS_HELP, attribute_contrast
from core.analysis.attribution.contrast import contrast_at, runner_up
from core.analysis.attribution.contrast_methods import METHODS, ContrastMethod
from core.analysis.attribution.deletion_curves import (
    METHOD_NAMES,
    RANDOM,
    DeletionCurves,
    area_over_curve,
    curves_picture,
    deletion_curves,
)
from core.analysis.attribution.paired_differences import (
    LEVEL,
    PairedDifference,
    holm,
    paired_difference,
    standard_error,
)
from core.analysis.declaration import FIRST, Analysis, Columns, PicturedResult, option
from core.analysis.pictures import Curves
from core.analysis.subject import MODEL
from core.files.number_range import SEEDS
from core.text.byte_pieces import is_special
from core.text.phrases import Number, Phrase, listed, marked
from core.text.sentences import naming_sentence
from core.text.text_files import read_text, split_lines
from core.trace import Head
from core.translator import Translator


@dataclass(frozen=True)
class Example:
    """Deletion curves of one prediction of a sample."""

    source: str
    token: str
    against: str | None
    curves: DeletionCurves


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
) -> list[DeletionCurves]:
    """The curves of `sample_curves`, of all examples or of the first ones."""
    return [example.curves for example in islice(sample_curves(translator, sentences, contrastive), count)]


@dataclass(frozen=True)
class Faithfulness:
    """AOPC of one method over the examples of a sample."""

    method: str
    aopc: float  # mean
    error: float  # standard error of that mean; NaN for one example
    # difference from the control, example by example; its p-value is corrected for the number of methods (`holm`). 0
    # for the control itself
    above_random: PairedDifference
    beats_random: bool  # whether that difference is above 0 and its p-value at most `LEVEL`
    is_best: bool  # whether the best method is not shown to be better, see `Ranking`


@dataclass(frozen=True)
class Ranking(PicturedResult):
    """Methods by their mean AOPC over a sample.

    The largest of several means is too large by chance. So the best method is chosen on one half of the examples (the
    first, third, and so on) and measured on the other, and the other way round. There all methods are compared with it,
    example by example.
    """

    methods: tuple[Faithfulness, ...]  # by their mean over all examples, the control included; largest first
    # methods with the largest mean over the first and over the second half, once if they are the same
    best: tuple[str, ...]
    # mean over all examples of the method chosen on the half that does not have them; NaN for one example
    best_aopc: float
    num_examples: int  # how many examples there are
    curves: DeletionCurves  # means of their curves

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

    def pictures(self, at: Head = FIRST) -> tuple[Curves]:
        """The mean curves."""
        return (curves_picture(self.curves),)

    def answer(self, at: Head = FIRST) -> str:
        """Which methods to trust on this model, which not, and how good the best one is where it was not chosen."""
        count = Number(self.num_examples, "d")
        trusted = [each.method for each in self.methods if each.is_best and each.beats_random]
        words = marked("Over {count} predictions, no method can be told apart from a random order.")
        if len(trusted) == 1:
            words = marked(
                "Trust {methods}: over {count} predictions, the probability falls most without the tokens that rank "
                "highest there."
            )
        elif trusted:
            words = marked(
                "Trust {methods}, which these sentences cannot tell apart: over {count} predictions, the probability "
                "falls most without the tokens that rank highest there."
            )
        chosen = marked("The best on one half of the predictions ({methods}) has an AOPC of {aopc} on the other half.")
        sentences = [
            Phrase(words, methods=_listed(trusted or self.best), count=count),
            Phrase(chosen, methods=_listed(self.best), aopc=Number(self.best_aopc, ".3f")),
        ]
        others = [each.method for each in self.methods if not each.beats_random and each.method != RANDOM]
        if trusted and others:
            words = marked("Not shown to be better than a random order: {methods}.")
            sentences.append(Phrase(words, methods=_listed(others)))
        return listed(sentences, "{first} {rest}")

    def summary(self) -> str:
        """The answer."""
        return self.answer()


def _listed(methods: Sequence[str]) -> str:
    *names, last = [Phrase(METHOD_NAMES[method]) for method in methods]
    return Phrase(marked("{names} and {last}"), names=listed(names), last=last) if names else last


def rank_methods(examples: Sequence[DeletionCurves]) -> Ranking:
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
    return Ranking(
        methods=tuple(ranked),
        best=tuple(dict.fromkeys(best)),
        best_aopc=fmean(held_out) if held_out else math.nan,
        num_examples=len(examples),
        curves={
            method: tuple(fmean(points) for points in zip(*(curves[method] for curves in examples), strict=True))
            for method in examples[0]
        },
    )


def _compared(pairs: Mapping[str, tuple[Sequence[float], Sequence[float]]]) -> dict[str, PairedDifference]:
    """Differences with p-values that are corrected for the number of pairs."""
    differences = {name: paired_difference(*both) for name, both in pairs.items()}
    adjusted = holm([each.p_value for each in differences.values()])
    return {
        name: replace(each, p_value=value) for (name, each), value in zip(differences.items(), adjusted, strict=True)
    }


def _is_above(difference: PairedDifference) -> bool:
    return difference.mean > 0 and difference.p_value <= LEVEL


@dataclass(frozen=True)
class FaithfulnessOptions:
    """Options of `faithfulness`."""

    input: Path = option(help="sentences, one per line")
    alone: bool = option(False, "explain log p(A) alone, rather than A against the runner-up B")
    seed: int = option(0, "seed of the choice of tokens and of the random orders", type=SEEDS)
    methods: tuple[ContrastMethod, ...] | None = option(None, METHODS_HELP, metavar="NAME", choices=METHODS)


def faithfulness(translator: Translator, options: FaithfulnessOptions) -> Ranking:
    """Rank the methods by how far the probability falls without the tokens that they rank highest.

    Progress is shown on stderr.

    Raises:
        ValueError: the file has no sentences, or one that cannot be translated.
        OSError: the file cannot be read.
    """
    sentences = [line.strip() for line in split_lines(read_text(options.input)) if line.strip()]
    if not sentences:
        raise ValueError(f"{options.input} has no sentences: give a file with one per line")
    examples = sample_curves(translator, sentences, not options.alone, options.methods, options.seed)
    shown = tqdm(examples, total=len(sentences), unit=" sentences", file=sys.stderr)
    return rank_methods([example.curves for example in shown])


FAITHFULNESS = Analysis(
    "faithfulness",
    "measure on a file of sentences which attribution methods are faithful to a model",
    faithfulness,
    FaithfulnessOptions,
    MODEL,
)
