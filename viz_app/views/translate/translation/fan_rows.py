"""The fan of samples: translations in rows, each from the word on where it leaves another."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from operator import eq

from core.analysis.sample_fan import SampleFan
from core.results import ScoredText
from viz_app.drawing.ablation import words_of


@dataclass(frozen=True)
class FanRow:
    """A translation of the fan.

    Attributes:
        rank: as a hypothesis of the beam, from 0; None for a sample alone.
        samples: numbers of the samples that it is.
        words: with their spaces.
        parent: index of the row that it leaves; None for the first row.
        shared: number of words that it has in common with that row.
    """

    translation: ScoredText
    rank: int | None
    samples: tuple[int, ...]
    words: tuple[str, ...]
    parent: int | None = None
    shared: int = 0


def fan_rows(fan: SampleFan) -> list[FanRow]:
    """Return each translation once, below the row that it leaves.

    The later it leaves that row, the nearer it is: so branches do not cross. Hypotheses come before samples, and
    samples that were drawn often before others.
    """
    samples: dict[tuple[int, ...], list[int]] = {}
    for number, each in enumerate(fan.samples):
        samples.setdefault(each.token_ids, []).append(number)
    ranks = {each.token_ids: rank for rank, each in enumerate(fan.hypotheses)}
    texts = {each.token_ids: each for each in (*fan.samples, *fan.hypotheses)}
    ends = [
        FanRow(text, ranks.get(token_ids), tuple(samples.get(token_ids, ())), tuple(words_of(text.tokens)))
        for token_ids, text in texts.items()
    ]
    ends.sort(key=lambda row: (len(ranks) if row.rank is None else row.rank, -len(row.samples), row.samples))
    rows: list[FanRow] = []
    _place(rows, ends, None, 0)
    return rows


def _place(rows: list[FanRow], ends: Sequence[FanRow], parent: int | None, shared: int) -> None:
    """Add rows that have their first `shared` words in common, the first of which leaves `parent`."""
    first, number = ends[0], len(rows)
    rows.append(FanRow(first.translation, first.rank, first.samples, first.words, parent, shared))
    groups: dict[tuple[int, tuple[str, ...]], list[FanRow]] = {}
    for each in ends[1:]:
        common = len(list(takewhile(bool, map(eq, first.words, each.words))))
        groups.setdefault((common, each.words[common : common + 1]), []).append(each)
    for common, word in sorted(groups, key=lambda group: -group[0]):
        _place(rows, groups[common, word], number, common)


def row_texts(row: FanRow) -> tuple[str, str]:
    """Return what a row has in common with the one that it leaves, and the rest."""
    drawn = ["".join(letter if letter.isprintable() else "\ufffd" for letter in word) for word in row.words]
    return "".join(drawn[: row.shared]), "".join(drawn[row.shared :])
