"""Has every source word been translated, and does attention know where to look? Numbers for one target x source matrix.

All of them take [T, S], rows that sum to 1: one head, a mean over heads, or words instead of tokens.

The coverage penalty is as in OpenNMT-py (`coverage_wu`). The coverage deviation, the absentmindedness penalties and
their sum are those of SoftAlignments, the tool of Rikters, Fishel & Bojar 2017 ("Visualizing Neural Machine Translation
Attention and Confidence"), with |1 - coverage| squared, as others have it, where the tool's code takes its sixth power.
Signs differ
between implementations: here 0 is best and less is worse.
"""

import torch
from torch import Tensor


def coverage(weights: Tensor) -> Tensor:
    """sum_t a_ts: how much attention each source token got from all target tokens: [T, S] -> [S]; 1 is its fair
    share when T = S.
    """
    return weights.sum(0)


def coverage_penalty(weights: Tensor, beta: float = 1.0) -> float:
    """cp = beta * sum_s ln(min(sum_t a_ts, 1)) (Wu et al. 2016, GNMT), in nats.

    0 when every source token got at least 1 in all; minus infinity when one got none. Added to a hypothesis' score, it
    favours those that leave nothing out.
    """
    return beta * float(coverage(weights).clamp(max=1).log().sum())


def coverage_deviation(weights: Tensor) -> float:
    """Coverage deviation penalty: -1/S sum_s ln(1 + (1 - sum_t a_ts)^2), after Rikters et al. 2017.

    0 when every source token got exactly 1 in all; more negative the more are left out or dwelt upon.
    """
    return -float((1 + (1 - coverage(weights)).square()).log().mean())


def absentmindedness_out(weights: Tensor) -> float:
    """Minus the mean entropy of the target tokens' attention, in nats, after Rikters et al. 2017: 0 when each looks
    at one token.
    """
    return -float(_entropy(weights).mean())


def absentmindedness_in(weights: Tensor) -> float:
    """The same seen from the source tokens, after Rikters et al. 2017: who looks at each, as shares of what it got."""
    columns = weights.T
    total = columns.sum(-1, keepdim=True)
    return -float(_entropy(columns / total.masked_fill(total == 0, 1.0)).mean())


def attention_confidence(weights: Tensor) -> float:
    """`coverage_deviation` and both absentmindedness penalties, added up (Rikters et al. 2017): 0 at best, as each
    of them is.
    """
    return coverage_deviation(weights) + absentmindedness_out(weights) + absentmindedness_in(weights)


def _entropy(distributions: Tensor) -> Tensor:
    """-sum p ln p over the last axis, 0 ln 0 being 0."""
    return -torch.xlogy(distributions, distributions).sum(-1)
