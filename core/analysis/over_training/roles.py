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
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from core.analysis.declaration import Columns, PicturedResult
from core.analysis.heads.labels import NOTHING, SHORT_NAMES, head_labels
from core.analysis.heads.scorecards import ScoreCard
from core.analysis.pictures import Cell, Curve, Curves, Grid, Picture
from core.files.tabular import as_columns
from core.text.phrases import Number, Phrase, listed, marked, numbers
from core.trace import Head, Kind

SPREAD = "spread out"
TOLERANCE = 0.1  # of a score, which is from 0 to 1

Cards = Sequence[ScoreCard]

SCORES = {  # from 0 to 1, by their names in `ScoreCard`; `agreement` is NaN in self-attention
    "confidence": marked("largest weight"),
    "entropy": marked("spread over tokens"),
    "previous": marked("weight on the previous position"),
    "same_position": marked("weight on the same position"),
    "following": marked("weight on the next position"),
    "same_token": marked("weight on the same word"),
    "rare_token": marked("rarest token has most"),
    "sink_share": marked("weight on end mark, first token and punctuation"),
    "agreement": marked("linked like other heads"),
}


class Development(NamedTuple):
    """A head over all snapshots."""

    head: Head
    values: tuple[float, ...]  # of one score, one for each snapshot
    settled: int | None  # number of the snapshot at which the score has settled; None if the last value is NaN
    roles: tuple[str | None, ...]  # at each snapshot; None without one
    taken: int | None  # number of the snapshot at which the last role is taken; None if the head has none in the end


@dataclass(frozen=True)
class Developments(PicturedResult):
    """One of `SCORES` and the roles of heads over the snapshots of a run, at these steps."""

    steps: tuple[int, ...]
    score: str
    heads: tuple[Development, ...]

    def table(self) -> Columns:
        """A row for each head and snapshot; layers and heads are counted from 0."""
        rows: list[tuple[object, ...]] = []
        for each in self.heads:
            for number, step in enumerate(self.steps):
                since = [begin is not None and number >= begin for begin in (each.settled, each.taken)]
                rows.append((*each.head, step, each.values[number], each.roles[number], *since))
        return as_columns((*Head._fields, "step", "value", "role", "settled", "taken"), rows)

    def pictures(self, at: Head) -> tuple[Picture, ...]:
        """The roles of all heads, and their scores."""
        return self.roles(), self.curves(at)

    def roles(self) -> Grid:
        """A row for each head and a column for each snapshot: its role, bold from where it is taken, and its score."""
        score = Phrase(SCORES[self.score])

        def cell(each: Development, number: int) -> Cell:
            value, role = each.values[number], each.roles[number]
            says = Phrase(
                marked("{role}; {score} {value}"),
                role=Phrase(role or NOTHING),
                score=score,
                value=Phrase(marked("no value")) if math.isnan(value) else Number(value, ".3f"),
            )
            return Cell(
                text=Phrase(SHORT_NAMES[role]) if role else "",
                says=says,
                shade=0.0 if math.isnan(value) else value,
                is_strong=each.taken is not None and number >= each.taken,
            )

        places = range(len(self.steps))
        return Grid(
            title=Phrase(marked("Roles of heads by step")),
            legend=Phrase(marked("{score}; bold: the role that stays"), score=score),
            columns=numbers(self.steps, ","),
            rows=[(each.head.short, [cell(each, number) for number in places]) for each in self.heads],
            width=6,
        )

    def curves(self, at: Head, step: int | None = None) -> Curves:
        """The scores over the snapshots, that of a head on top, with a ring where it has settled, and a line at a step.

        The snapshots have equal distances.
        """
        places, own = range(len(self.steps)), self.of(at)
        place = None if step is None else self.steps.index(step)
        curves = [
            Curve(name="", places=places, values=each.values, color=None, width=0.8, says=f"{each.head.short}: {{y}}")
            for each in self.heads
            if each is not own
        ]
        if own:
            curves.append(Curve(name=at.short, places=places, values=own.values, color=at.head, width=3))
        if own and own.settled is not None:
            settled = Phrase(marked("settled by step {step}"), step=Number(self.steps[own.settled], ","))
            value = own.values[own.settled]
            curves.append(
                Curve(name="", places=[own.settled], values=[value], color=at.head, shape="ring", says=settled)
            )
        score = Phrase(SCORES[self.score])
        return Curves(
            title=Phrase(marked("{score} of all heads over training"), score=score),
            axis=score,
            below=Phrase(marked("training steps (not to scale)")),
            curves=curves,
            names=list(zip(places, numbers(self.steps, ","), strict=True)),
            limits=(0, 1),
            rules=() if place is None else (place,),
            current=place,
        )

    def of(self, head: Head) -> Development | None:
        """The development of a head; None if it is of another kind."""
        return next((each for each in self.heads if each.head == head), None)

    def answer(self, at: Head) -> Phrase:
        """How many heads have a role in the end, and by which step half and all of them have it."""
        taken = sorted(each.taken for each in self.heads if each.taken is not None)
        count = str(len(self.heads))
        if not taken:
            return Phrase(marked("None of these {count} heads meets a criterion in the end."), count=count)
        half, last = (self.steps[number] for number in (taken[(len(taken) - 1) // 2], taken[-1]))
        values = {"taken": str(len(taken)), "count": count, "last": Number(last, ",")}
        if half == last:
            return Phrase(
                marked("{taken} of {count} heads have a role in the end, all of them by step {last}."), **values
            )
        return Phrase(
            marked(
                "{taken} of {count} heads have a role in the end: half of these by step {half}, all by step {last}."
            ),
            half=Number(half, ","),
            **values,
        )

    def says(self, each: Development) -> Phrase | str:
        """When the score of a head has settled, and since when it has its role."""

        def around(number: int) -> dict[str, str]:
            return {"before": Number(self.steps[number - 1], ","), "step": Number(self.steps[number], ",")}

        parts: list[Phrase] = []
        if each.settled == 0:
            parts.append(Phrase(marked("its score settles from the first snapshot on")))
        elif each.settled is not None:
            words = marked("its score settles after step {before}, by step {step}")
            parts.append(Phrase(words, **around(each.settled)))
        role = Phrase(each.roles[-1] or NOTHING)
        if each.taken is None:
            parts.append(Phrase(marked("it has no role in the end")))
        elif each.taken == 0:
            parts.append(Phrase(marked("its role, {role}, is taken from the first snapshot on"), role=role))
        else:
            words = marked("its role, {role}, is taken after step {before}, by step {step}")
            parts.append(Phrase(words, role=role, **around(each.taken)))
        return listed(parts, marked("{first}; {rest}"))


def developments(
    steps: Sequence[int], cards: Sequence[Cards], score: str, tolerance: float = TOLERANCE, kind: Kind | None = None
) -> Developments:
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
        values = tuple(getattr(card, score) for card in of_head)
        roles = tuple(role(card) for card in of_head)
        heads.append(Development(of_head[0].head, values, settled_at(values, tolerance), roles, taken_at(of_head)))
    return Developments(tuple(steps), score, tuple(heads))


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


def _roles(card: ScoreCard) -> list[str]:
    """Roles whose criteria a head meets, most specific first."""
    names = [label.base_name for label in head_labels(card)]
    return [SPREAD] if SPREAD in names else names


def _first_of_run(holds: Sequence[bool]) -> int:
    """Number of the first of the last unbroken run of True."""
    later = [number for number, value in enumerate(holds) if not value]
    return later[-1] + 1 if later else 0
