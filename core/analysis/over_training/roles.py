"""Scores and roles of heads over the snapshots of a run, and when they settle.

Olsson et al. 2022 (arXiv 2209.11895) follow a score of every head over the snapshots of a run to see induction heads
appear. Here it is any score of the score-cards, and a role is the most specific label of a head (`head_labels`, by the
criteria of Voita et al. 2019 and Clark et al. 2019). A head whose weights are spread out has that role and no other:
early in training all weights are nearly equal, and the position of the largest of them says little. Two definitions, of
which the first is the settling time of control engineering:

- a score has **settled** at the first snapshot from which on it stays within a tolerance of its value at the last;
- a role is **taken** at the first snapshot from which on the head meets its criterion at every snapshot.

Nothing is known between two snapshots: a score that has settled at step b, with a snapshot at step a before, has done
so after a and at b at the latest. A score of the last snapshot settles there by definition.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from core.analysis.heads.labels import head_labels
from core.analysis.heads.scorecards import ScoreCard
from core.trace import Head, Kind

SPREAD = "spread out"
TOLERANCE = 0.1  # of a score, which is from 0 to 1

Cards = Sequence[ScoreCard]

SCORES: Mapping[str, Callable[[ScoreCard], float]] = {
    "confidence": lambda card: card.confidence,
    "entropy": lambda card: card.entropy,
    "previous": lambda card: card.previous,
    "same_position": lambda card: card.same_position,
    "following": lambda card: card.following,
    "same_token": lambda card: card.same_token,
    "rare_token": lambda card: card.rare_token,
    "sink_share": lambda card: card.sink_share,
    "agreement": lambda card: card.agreement,
}
"""Scores from 0 to 1 by the names of `ScoreCard`; `agreement` is NaN in self-attention."""


class Development(NamedTuple):
    """A head over all snapshots.

    Attributes:
        values: of one score, one for each snapshot.
        settled: number of the snapshot at which the score has settled; None if the last value is NaN.
        roles: at each snapshot; None without one.
        taken: number of the snapshot at which the last role is taken; None if the head has none in the end.
    """

    head: Head
    values: tuple[float, ...]
    settled: int | None
    roles: tuple[str | None, ...]
    taken: int | None


def role(card: ScoreCard) -> str | None:
    """Role of a head, a key of `labels.DEFINITIONS`; None if it meets no criterion."""
    return next(iter(_roles(card)), None)


def settled_at(values: Sequence[float], tolerance: float = TOLERANCE) -> int | None:
    """Number of the first value from which on all are within a tolerance of the last; None if that is NaN.

    NaN is within no tolerance.
    """
    if math.isnan(values[-1]):
        return None
    return _first_of_run([abs(value - values[-1]) <= tolerance for value in values])


def taken_at(cards: Cards) -> int | None:
    """Number of the first snapshot from which on a head keeps its last role, always meeting the criterion.

    None if it has no role at the last snapshot; the cards are of one head, at each snapshot.
    """
    last = role(cards[-1])
    if last is None:
        return None
    return _first_of_run([last in _roles(card) for card in cards])


def developments(
    cards: Sequence[Cards], score: str, tolerance: float = TOLERANCE, kind: Kind | None = None
) -> list[Development]:
    """Follow one of `SCORES` and the role of every head, or of those of a kind, over the snapshots in their order.

    Raises:
        ValueError: there is no such score, or no snapshot.
    """
    if score not in SCORES:
        raise ValueError(f"score ({score!r}) must be one of {', '.join(SCORES)}")
    if not cards:
        raise ValueError("there are no snapshots: pass the cards of one or more")
    heads: list[Development] = []
    for of_head in zip(*cards, strict=True):
        if kind not in (None, of_head[0].head.kind):
            continue
        values = tuple(SCORES[score](card) for card in of_head)
        roles = tuple(role(card) for card in of_head)
        heads.append(Development(of_head[0].head, values, settled_at(values, tolerance), roles, taken_at(of_head)))
    return heads


def development_columns(steps: Sequence[int], heads: Sequence[Development]) -> dict[str, list[object]]:
    """Columns of a table with a row for each head and snapshot; layers and heads are counted from 0.

    Args:
        steps: of the snapshots.
    """
    rows = [(each, number, step) for each in heads for number, step in enumerate(steps)]
    return {
        "kind": [each.head.kind for each, _, _ in rows],
        "layer": [each.head.layer for each, _, _ in rows],
        "head": [each.head.head for each, _, _ in rows],
        "step": [step for _, _, step in rows],
        "value": [each.values[number] for each, number, _ in rows],
        "role": [each.roles[number] for each, number, _ in rows],
        "settled": [each.settled is not None and number >= each.settled for each, number, _ in rows],
        "taken": [each.taken is not None and number >= each.taken for each, number, _ in rows],
    }


def _roles(card: ScoreCard) -> list[str]:
    """Roles whose criteria a head meets, most specific first."""
    names = [label.base_name for label in head_labels(card)]
    return [SPREAD] if SPREAD in names else names


def _first_of_run(holds: Sequence[bool]) -> int:
    """Number of the first of the last unbroken run of True."""
    later = [number for number, value in enumerate(holds) if not value]
    return later[-1] + 1 if later else 0
