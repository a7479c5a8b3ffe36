"""Length penalties at which the order of given hypotheses changes.

Hypotheses are ranked by log-probability divided by a power of their length, l(n)^alpha, with l(n) = (5 + n) / 6 in the
paper (Wu et al. 2016) or n. Two of them change places at the alpha where their scores are equal,

    p_a / l(n_a)^alpha = p_b / l(n_b)^alpha,    alpha = log(p_b / p_a) / log(l(n_b) / l(n_a)),

so the places follow exactly from log-probabilities and lengths, without a search. A search with another penalty may
find other hypotheses, too: the list says which of those that were found comes first.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from core.decoding.states import MAX_LENGTH_PENALTY, penalised_length
from core.model.config import PenaltyFormula
from core.results import ScoredText


@dataclass(frozen=True)
class OrderChange:
    """A length penalty from which on another hypothesis is first."""

    alpha: float  # the penalty at which both have the same score
    before: int  # index of the first hypothesis below `alpha`
    after: int  # above


def crossing(one: ScoredText, other: ScoredText, formula: PenaltyFormula = "paper") -> float | None:
    """The length penalty at which two hypotheses have the same score; None if there is none above 0."""
    lengths = [penalised_length(len(each.token_ids), formula) for each in (one, other)]
    if lengths[0] == lengths[1] or not (one.log_prob < 0 and other.log_prob < 0):
        return None
    alpha = math.log(other.log_prob / one.log_prob) / math.log(lengths[1] / lengths[0])
    return alpha if alpha > 0 else None


def first_at(hypotheses: Sequence[ScoredText], alpha: float, formula: PenaltyFormula = "paper") -> int:
    """Index of the hypothesis with the highest score at a length penalty; of equal ones the first in the list."""
    scores = [each.log_prob / penalised_length(len(each.token_ids), formula) ** alpha for each in hypotheses]
    return scores.index(max(scores))


def order_changes(
    hypotheses: Sequence[ScoredText], formula: PenaltyFormula = "paper", most: float = MAX_LENGTH_PENALTY
) -> list[OrderChange]:
    """All penalties from 0 to `most` at which another hypothesis comes first, in order."""
    pairs = [(one, other) for place, one in enumerate(hypotheses) for other in hypotheses[place + 1 :]]
    found = {alpha for pair in pairs if (alpha := crossing(*pair, formula)) is not None}
    changes: list[OrderChange] = []
    places = sorted(found)
    for number, alpha in enumerate(places):
        below = (alpha + (places[number - 1] if number else 0.0)) / 2
        above = (alpha + (places[number + 1] if number + 1 < len(places) else 2 * alpha)) / 2
        before, after = first_at(hypotheses, below, formula), first_at(hypotheses, above, formula)
        if before != after and alpha <= most:
            changes.append(OrderChange(alpha, before, after))
    return changes
