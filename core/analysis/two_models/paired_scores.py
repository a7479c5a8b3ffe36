"""BLEU and chrF of two models on one test set, each with a 95 % interval, and the p-value of their difference.

The tests are those of sacreBLEU, with its draws (Post 2018; Koehn 2004 for the bootstrap, Riezler & Maxwell 2005 for
randomisation). They ask how the difference would vary over other sentences of the same kind. They know nothing of the
training: the same model trained from another seed differs, too. Draws that reach the observed difference count, as a
p-value is defined, so that equal scores have 1; sacreBLEU counts only those above it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from core.files.extras import needs
from core.text.bleu_tokenizers import bleu_tokenizer

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric

PairedTestName = Literal["bootstrap", "randomization"]
SHORT_NAMES: dict[PairedTestName, str] = {"bootstrap": "bs", "randomization": "ar"}
RESAMPLES = 1_000  # of the intervals, and of the bootstrap by default
TRIALS = 10_000  # of the randomisation by default
SEED = 12345  # sacreBLEU's
ROUNDING = 1e-9  # below any difference of two scores that are not equal


@dataclass(frozen=True)
class PairedScore:
    """One metric on a test set."""

    metric: str  # "BLEU" or "chrF2", from 0 to 100
    first: float  # the score of the first model
    second: float  # of the second
    first_interval: float  # half the width of its 95 % interval; `second_interval` likewise
    second_interval: float
    p_value: float  # the probability of a difference as large if both models were alike; 1 if the scores are equal
    signature: str  # sacreBLEU's


def paired_scores(
    first: Sequence[str],
    second: Sequence[str],
    references: Sequence[str],
    test: PairedTestName = "bootstrap",
    samples: int | None = None,
    language: str = "",
) -> list[PairedScore]:
    """Score two lists of translations, and test whether they differ.

    A bootstrap has 1,000 samples by default, a randomisation 10,000. `bleu_tokenizer` needs the references' language.

    Raises:
        ValueError: the lists have different lengths, or none.
    """
    with needs("scores", "BLEU and chrF"):
        from sacrebleu.metrics.bleu import BLEU
        from sacrebleu.metrics.chrf import CHRF

    if not len(first) == len(second) == len(references) or not references:
        raise ValueError(
            f"there are {len(first)} and {len(second)} translations of {len(references)} references: expected one "
            f"translation of each model per reference, and one reference at least"
        )
    count = samples or (RESAMPLES if test == "bootstrap" else TRIALS)
    settings = {"seed": SEED, SHORT_NAMES[test]: count} | ({} if test == "bootstrap" else {"bs": RESAMPLES})
    scores: list[PairedScore] = []
    metrics: list[Metric] = [BLEU(tokenize=bleu_tokenizer(references, language)), CHRF()]
    for metric in metrics:
        statistics = [_statistics(metric, side, references) for side in (first, second)]
        one, other = (_score(metric, each.sum(0)) for each in statistics)
        resampled = _resampled(metric, statistics, settings["bs"])
        if test == "bootstrap":
            differences = abs(resampled[0] - resampled[1])
            differences = (differences - differences.mean()).clip(0)  # none is smaller than no difference
        else:
            differences = _swapped(metric, statistics, count)
        reached = int((differences >= abs(one - other) - ROUNDING).sum())
        width, other_width = map(_interval, resampled)
        signature = metric.get_signature()
        for key, value in settings.items():
            signature.update(key, value)
        name = str(metric.corpus_score(["a"], [["a"]]).name)
        scores.append(PairedScore(name, one, other, width, other_width, (reached + 1) / (count + 1), str(signature)))
    return scores


def _statistics(metric: "Metric", texts: Sequence[str], references: Sequence[str]) -> NDArray[np.float64]:
    """The counts of a metric for each sentence, which it adds up: [sentences, counts]."""
    found: Any = metric._extract_corpus_statistics(list(texts), [list(references)])  # pyright: ignore[reportPrivateUsage]
    return np.array(found, np.float64)


def _score(metric: "Metric", counts: NDArray[np.float64]) -> float:
    """The score of sentences from the sums of their counts."""
    return float(metric._compute_score_from_stats(counts.tolist()).score)  # pyright: ignore[reportPrivateUsage]


def _resampled(metric: "Metric", statistics: Sequence[NDArray[np.float64]], count: int) -> list[NDArray[np.float64]]:
    """The scores of both sides on sentences drawn with replacement, the same ones for both: [count] each."""
    size = len(statistics[0])
    draws = np.random.default_rng(SEED).choice(size, size=(count, size), replace=True)
    return [np.array([_score(metric, each[draw].sum(0)) for draw in draws]) for each in statistics]


def _swapped(metric: "Metric", statistics: Sequence[NDArray[np.float64]], count: int) -> NDArray[np.float64]:
    """The absolute differences with translations swapped at random: [count]."""
    first, second = statistics
    kept = np.random.default_rng(SEED).integers(2, size=(count, len(first)), dtype=bool)
    mixed = kept @ first + ~kept @ second  # [count, counts]
    rest = first.sum(0) + second.sum(0) - mixed
    return np.array([abs(_score(metric, one) - _score(metric, other)) for one, other in zip(mixed, rest, strict=True)])


def _interval(scores: NDArray[np.float64]) -> float:
    """Half the width of the 95 % interval of resampled scores: without a fortieth of them on each side."""
    ordered, left_out = np.sort(scores), len(scores) // 40
    return float(ordered[-1 - left_out] - ordered[left_out]) / 2
