"""BLEU and chrF of two models on one test set, each with a 95 % interval, and the p-value of their difference.

The tests are sacreBLEU's (Post 2018; Koehn 2004 for the bootstrap, Riezler & Maxwell 2005 for randomisation). They ask
how the difference would vary over other sentences of the same kind. They know nothing of the training: the same model
trained from another seed differs, too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

from core.text.bleu_tokenizers import bleu_tokenizer

PairedTestName = Literal["bootstrap", "randomization"]
SHORT_NAMES: dict[PairedTestName, str] = {"bootstrap": "bs", "randomization": "ar"}
RESAMPLES = 1_000  # of the intervals, and of the bootstrap by default
TRIALS = 10_000  # of the randomisation by default


@dataclass(frozen=True)
class PairedScore:
    """One metric on a test set.

    Attributes:
        metric: "BLEU" or "chrF2", from 0 to 100.
        first, second: the score of each model.
        first_interval, second_interval: half the width of the 95 % interval of each.
        p_value: of the difference: the probability of one as large if both models were alike; 1 if all translations are
            the same.
        signature: sacreBLEU's.
    """

    metric: str
    first: float
    second: float
    first_interval: float
    second_interval: float
    p_value: float
    signature: str


def paired_scores(
    first: Sequence[str],
    second: Sequence[str],
    references: Sequence[str],
    test: PairedTestName = "bootstrap",
    samples: int | None = None,
    language: str = "",
) -> list[PairedScore]:
    """Score two lists of translations, and test whether they differ.

    Args:
        samples: of the test, by default 1,000 resamples of a bootstrap or 10,000 trials of a randomisation.
        language: code of the references' language, for the tokenizer of BLEU: see `bleu_tokenizer`.

    Raises:
        ValueError: the lists have different lengths, or none.
    """
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF
    from sacrebleu.significance import PairedTest, Result

    if not len(first) == len(second) == len(references) or not references:
        raise ValueError(
            f"there are {len(first)} and {len(second)} translations of {len(references)} references: expected one "
            f"translation of each model per reference, and one reference at least"
        )
    metrics = {"BLEU": BLEU(tokenize=bleu_tokenizer(references, language)), "chrF": CHRF()}
    systems: list[tuple[str, Sequence[str]]] = [("first", list(first)), ("second", list(second))]
    count = samples or (RESAMPLES if test == "bootstrap" else TRIALS)
    intervals = -1 if test == "bootstrap" else RESAMPLES  # a bootstrap has its own
    paired = PairedTest(
        systems, metrics, [list(references)], test_type=SHORT_NAMES[test], n_samples=count, n_ar_confidence=intervals
    )
    signatures, results = paired()
    scores: list[PairedScore] = []
    for metric, signature in signatures.items():
        one, other = cast("list[Result]", results[metric])
        # where nothing differs, sacreBLEU counts no resample as more extreme, and would say that this is significant
        p_value = 1.0 if list(first) == list(second) else float(other.p_value or 0)
        widths = [float(each.ci or 0) for each in (one, other)]
        scores.append(PairedScore(metric, one.score, other.score, widths[0], widths[1], p_value, str(signature)))
    return scores
