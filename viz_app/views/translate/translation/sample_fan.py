"""The fan of samples: translations in rows to click on, each from the word on where it leaves another."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from operator import eq
from typing import Any

from core.analysis.sample_fan import SampleFan
from core.results import ScoredText
from viz_app.components.component import component_beside, draw, sent_index
from viz_app.drawing.ablation import words_of
from viz_app.drawing.display_text import direction


@dataclass(frozen=True)
class FanRow:
    """A translation of the fan."""

    translation: ScoredText
    rank: int | None  # as a hypothesis of the beam, from 0; None for a sample alone
    samples: tuple[int, ...]  # numbers of the samples that it is
    words: tuple[str, ...]  # with their spaces
    parent: int | None = None  # index of the row that it leaves; None for the first row
    shared: int = 0  # number of words that it has in common with that row


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


_component = component_beside(__file__)


def fan_payload(rows: Sequence[FanRow], target: Sequence[int]) -> dict[str, Any]:
    """Return the data of the fan, with the target that the pages explain marked, see `Data` in sample_fan.js."""
    return {
        "rows": [
            {
                "rank": None if row.rank is None else row.rank + 1,
                "samples": len(row.samples),
                "logProb": round(row.translation.log_prob, 3),
                "shared": shared,
                "own": own,
                "parent": row.parent,
                "shown": row.translation.token_ids == tuple(target),
            }
            for row, (shared, own) in ((row, row_texts(row)) for row in rows)
        ],
        "direction": direction(rows[0].translation.text),
    }


def sample_fan(rows: Sequence[FanRow], target: Sequence[int], on_click: Callable[[FanRow], None]) -> None:
    """Draw the fan, see `fan_payload`; `on_click` is called with the clicked row before the page runs again."""
    payload = fan_payload(rows, target)
    draw(_component, payload, "sample_fan", "row", partial(sent_index, count=len(rows)), lambda at: on_click(rows[at]))
