"""Translations as a fan: rows to click on, each from the word on where it leaves another."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise, takewhile
from operator import eq
from typing import Any

from core.results import ScoredText
from viz_app.components.component import component_beside, draw, sent_index
from viz_app.drawing.ablation import words_of
from viz_app.drawing.display_text import direction

WIDE = 130  # characters of a row: on a slide as wide none are smaller than 12 pixels


@dataclass(frozen=True)
class FanRow:
    """A translation of the fan."""

    translation: ScoredText
    rank: int | None  # as a hypothesis of the beam, from 0; None for others
    value: float | None = None  # its number
    samples: tuple[int, ...] = ()  # numbers of the samples that it is
    share: float = 0.3  # how thick its branch is
    note: str = ""  # what became of it
    words: tuple[str, ...] = ()  # with their spaces
    parent: int | None = None  # index of the row that it leaves; None for the first row
    shared: int = 0  # number of words that it has in common with that row


def fan_rows(ends: Sequence[FanRow]) -> list[FanRow]:
    """Return translations, the most important first, each below the row that it leaves.

    The later it leaves that row, the nearer it is: so branches do not cross. If a row is `WIDE`, long runs of words
    that no row leaves are shortened.
    """
    rows: list[FanRow] = []
    _place(rows, [replace(each, words=tuple(words_of(each.translation.tokens))) for each in ends], None, 0)
    if width(rows) <= WIDE:
        return rows
    leaves = sorted({row.shared for row in rows})
    short = [(_shortened(row.words, leaves), _shortened(row.words[: row.shared], leaves)) for row in rows]
    return [replace(row, words=words, shared=len(shared)) for row, (words, shared) in zip(rows, short, strict=True)]


def width(rows: Sequence[FanRow]) -> int:
    """Return the number of characters of the widest row."""
    return max(len("".join(row.words)) for row in rows)


def _shortened(words: tuple[str, ...], leaves: Sequence[int]) -> tuple[str, ...]:
    """Return words without the middle of long runs between the places where rows leave each other."""
    runs = [words[start:stop] for start, stop in pairwise([*leaves, max(len(words), *leaves)])]
    return tuple(each for run in runs for each in (run if len(run) <= 5 else (*run[:2], " \u2026", *run[-2:])))


def _place(rows: list[FanRow], ends: Sequence[FanRow], parent: int | None, shared: int) -> None:
    """Add rows that have their first `shared` words in common, the first of which leaves `parent`."""
    first, number = ends[0], len(rows)
    rows.append(replace(first, parent=parent, shared=shared))
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


def fan_payload(rows: Sequence[FanRow], target: Sequence[int], title: str) -> dict[str, Any]:
    """Return the fan's `Data` (in fan.js), with the explained target marked, and the title of the rows' numbers."""
    return {
        "rows": [
            {
                "rank": None if row.rank is None else row.rank + 1,
                "samples": len(row.samples),
                "value": row.value,
                "share": row.share,
                "text": row.translation.text,
                "note": row.note,
                "shared": shared,
                "own": own,
                "parent": row.parent,
                "shown": row.translation.token_ids == tuple(target),
            }
            for row, (shared, own) in ((row, row_texts(row)) for row in rows)
        ],
        "title": title,
        "direction": direction(rows[0].translation.text),
    }


def fan(
    key: str, rows: Sequence[FanRow], target: Sequence[int], title: str, on_click: Callable[[FanRow], None]
) -> None:
    """Draw a fan, see `fan_payload`; `on_click` is called with the clicked row before the page runs again."""
    read, payload = partial(sent_index, count=len(rows)), fan_payload(rows, target, title)
    draw(_component, payload, key, "row", read, lambda at: on_click(rows[at]))
