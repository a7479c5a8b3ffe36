"""Coverage and confidence of one attention matrix [T, S] from target to source, whose rows sum to 1.

It belongs to one head or is a mean over heads, between tokens or words.

The coverage penalty is as in OpenNMT-py (`coverage_wu`). The coverage deviation, the absentmindedness penalties and
their sum are those of SoftAlignments, the tool of Rikters, Fishel & Bojar 2017 ("Visualizing Neural Machine Translation
Attention and Confidence"), with |1 - coverage| squared, as in other implementations, where the tool's code takes the
sixth power. Signs differ between implementations: here 0 is best and lower is worse.
"""

import torch
from torch import Tensor

from core.text.phrases import Number, Phrase


def coverage(weights: Tensor) -> Tensor:
    """sum_t a_ts: attention that each source token receives, with a mean of 1 if T = S: [T, S] -> [S]."""
    return weights.sum(0)


def coverage_penalty(weights: Tensor, beta: float = 1.0) -> float:
    """cp = beta * sum_s ln(min(sum_t a_ts, 1)) (Wu et al. 2016, GNMT), in nats.

    0 if every source token receives at least 1; minus infinity if one receives nothing. Added to a hypothesis' score,
    it favours translations that omit nothing.
    """
    return beta * float(coverage(weights).clamp(max=1).log().sum())


def coverage_deviation(weights: Tensor) -> float:
    """-1/S sum_s ln(1 + (1 - sum_t a_ts)^2), after Rikters et al. 2017.

    0 if every source token receives exactly 1; lower the more tokens receive too little or too much.
    """
    return -float((1 + (1 - coverage(weights)).square()).log().mean())


def absentmindedness_out(weights: Tensor) -> float:
    """Minus the mean entropy of target tokens' attention, in nats (after Rikters et al. 2017); 0 if each is on one."""
    return -float(_entropy(weights).mean())


def absentmindedness_in(weights: Tensor) -> float:
    """Minus the mean entropy of the attention that source tokens receive, in nats (after Rikters et al. 2017).

    Each column is normalised first.
    """
    columns = weights.T
    total = columns.sum(-1, keepdim=True)
    return -float(_entropy(columns / total.masked_fill(total == 0, 1.0)).mean())


def attention_confidence(weights: Tensor) -> float:
    """Sum of `coverage_deviation` and both absentmindedness penalties (Rikters et al. 2017); 0 is best."""
    return coverage_deviation(weights) + absentmindedness_out(weights) + absentmindedness_in(weights)


def coverage_text(weights: Tensor) -> Phrase:
    """All of these scores, in a sentence."""
    scores = (coverage_penalty, coverage_deviation, absentmindedness_out, absentmindedness_in, attention_confidence)
    penalty, deviation, out, back, confidence = (Number(score(weights), ".2f") for score in scores)
    return Phrase(
        "Coverage penalty {penalty}, deviation {deviation}; absentmindedness {out} from the target, {back} from the "
        "source; attention confidence {confidence}",
        penalty=penalty,
        deviation=deviation,
        out=out,
        back=back,
        confidence=confidence,
    )


def _entropy(distributions: Tensor) -> Tensor:
    """-sum p ln p over the last axis, with 0 ln 0 = 0."""
    return -torch.xlogy(distributions, distributions).sum(-1)
