"""The fan of samples: translations in rows, each from the word on where it leaves another, and as a picture."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from operator import eq
from typing import TYPE_CHECKING, Any

from core.analysis.sample_fan import SampleFan
from core.results import ScoredText
from viz_app.drawing.ablation import words_of
from viz_app.drawing.display_text import decimal
from viz_app.drawing.export.canvas import LABEL_POINTS, SMALL_POINTS, Format, check_format, paper, saved
from viz_app.drawing.line_weights import line_style
from viz_app.drawing.theme import LIGHT, Theme
from viz_app.language import tr

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROW = 0.3  # inches
COLUMNS = (0.35, 1.1, 1.95)  # inches: the right edges of rank, number of samples and log-probability
TEXT = 2.2  # inches: where the translations begin
LEAST_WIDTH = 5.0
BEND = 0.09  # inches of the bend of a branch


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


def export_fan(rows: Sequence[FanRow], file_format: Format, theme: Theme = LIGHT) -> bytes:
    """Draw the fan: rank, number of samples and log-probability of each row, and its branch.

    Raises:
        ValueError: The format is not one of `FORMATS`.
    """
    check_format(file_format)
    texts = [row_texts(row) for row in rows]
    figure, axes = paper(LEAST_WIDTH, ROW * (len(rows) + 1.4), theme)
    starts = [TEXT + _width(figure, shared) for shared, _ in texts]
    ends = [start + _width(figure, own) for start, (_, own) in zip(starts, texts, strict=True)]
    width = max(LEAST_WIDTH, *ends) + 0.2
    figure.set_size_inches(width, ROW * (len(rows) + 1.4))
    figure.set_layout_engine("none")
    axes.set_position((0, 0, 1, 1))  # so that a number is an inch
    axes.set_axis_off()
    axes.set_xlim(0, width)
    axes.set_ylim(len(rows) + 0.2, -1.2)
    style: dict[str, Any] = {"va": "center", "parse_math": False}
    total = max(1, sum(len(row.samples) for row in rows))
    for edge, name in zip(COLUMNS, (tr("beam"), tr("samples"), tr("log-prob")), strict=True):
        axes.text(edge, -0.8, name, ha="right", color=theme.faint, fontsize=SMALL_POINTS, **style)
    for number, (row, start, (_, own)) in enumerate(zip(rows, starts, texts, strict=True)):
        color = theme.text if row.rank is not None else theme.faint
        numbers = (
            "" if row.rank is None else str(row.rank + 1),
            f"\u00d7{len(row.samples)}" if row.samples else "",
            decimal(row.translation.log_prob, 2),
        )
        for edge, value in zip(COLUMNS, numbers, strict=True):
            axes.text(edge, number, value, ha="right", color=color, fontsize=SMALL_POINTS, **style)
        axes.text(start, number, own.lstrip() or "\u2205", color=color, fontsize=LABEL_POINTS, **style)
        if row.parent is not None:
            x, bend = start - BEND - 0.03, BEND / ROW
            path = [x, x, x + BEND], [row.parent + 0.4, number - bend, number]
            line = theme.head_colors[0] if row.rank is not None else theme.faint
            style_of_line = line_style(len(row.samples) / total).for_matplotlib
            axes.plot(*path, color=line, solid_joinstyle="round", zorder=0, **style_of_line)
    return saved(figure, file_format)


def _width(figure: "Figure", text: str) -> float:
    """Return the width of a text in inches."""
    if not text:
        return 0.0
    drawn = figure.text(0, 0, text, fontsize=LABEL_POINTS, parse_math=False)
    width = drawn.get_window_extent().width / figure.dpi
    drawn.remove()
    return width
