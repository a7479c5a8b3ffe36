"""The terms of a score as bars: those of the key, and those of the query, with heads by layer or one by one."""

import math
from collections.abc import Collection, Iterator
from itertools import groupby
from typing import NamedTuple

from core.analysis.attribution.read_stream import Part
from core.analysis.attribution.score_components import ScoreComponents, ScoreTerm, Side
from core.analysis.heads.head import Head
from core.analysis.pictures import Cell, Grid
from core.capture import KINDS
from viz_app.drawing.display_text import decimal
from viz_app.drawing.head_names import head_title, name_of
from viz_app.language import marked, tr, tr_count

SHADE = 0.7  # place of the colours of bars on their scales
BARS = marked("lowers the score, raises the score")
NAMES: dict[Side, str] = {"key": marked("Parts of the key"), "query": marked("Parts of the query")}
OF_NO_LAYER: dict[Part, str] = {
    "token": marked("Token"),
    "position": marked("Position"),
    "distance": marked("Distance"),
    "constant": marked("Biases"),
}
GROUPS: dict[Part, str] = {  # in a column of a few characters
    "encoder_self": marked("L{layer} heads"),
    "decoder_self": marked("L{layer} self"),
    "cross": marked("L{layer} cross"),
    "feed_forward": marked("L{layer} FFN"),
}
LONG: dict[Part, str] = {
    "encoder_self": marked("Self-attention of layer {layer}"),
    "decoder_self": marked("Self-attention of layer {layer}"),
    "cross": marked("Cross-attention of layer {layer}"),
    "feed_forward": marked("Feed-forward network of layer {layer}"),
}


class BarRow(NamedTuple):
    """A row of the bars: one term, or the heads of a layer together.

    Attributes:
        group: identifier of the heads that a click opens or closes; "" for other rows.
        head: whose map a click opens; None for other rows.
        text: what it is, for screen readers and on hover.
    """

    name: str
    value: float
    group: str
    head: Head | None
    text: str


def bar_rows(found: ScoreComponents, side: Side, opened: Collection[str]) -> list[BarRow]:
    """Return the rows of a side, from the embedding upwards.

    Args:
        opened: groups whose heads have rows of their own, below that of the group.
    """
    rows: list[BarRow] = []
    for (part, layer), of_group in groupby(found.terms[side], lambda term: term[:2]):
        terms = list(of_group)
        value = math.fsum(term.value for term in terms)
        if layer is None:
            name = tr(OF_NO_LAYER[part])
            rows.append(BarRow(name, value, "", None, name))
            continue
        name, text = (tr(names[part], layer=layer + 1) for names in (GROUPS, LONG))
        if part not in KINDS:
            rows.append(BarRow(name, value, "", None, text))
            continue
        group = f"{side}.{part}.{layer + 1}"
        heads = tr_count("{count} head", "{count} heads", len(terms))
        rows.append(BarRow(f"{'▾' if group in opened else '▸'} {name}", value, group, None, f"{text}, {heads}"))
        rows += _head_rows(terms) if group in opened else ()
    return rows


def _head_rows(terms: list[ScoreTerm]) -> Iterator[BarRow]:
    for part, layer, head, value in terms:
        assert layer is not None
        assert head is not None
        named = Head(next(kind for kind in KINDS if kind == part), layer, head)
        yield BarRow(f"· {name_of(layer, head)}", value, "", named, head_title(named))


def longest_bar(found: ScoreComponents, opened: Collection[str]) -> float:
    """Return the largest absolute value of both sides, so that their bars have one scale."""
    sides: tuple[Side, ...] = ("key", "query")
    return max((abs(row.value) for side in sides for row in bar_rows(found, side, opened)), default=0.0) or 1.0


def bars_grid(found: ScoreComponents, side: Side, opened: Collection[str]) -> Grid:
    """Return a grid with a bar for each row of a side, and their sum above them."""
    longest = longest_bar(found, opened)
    rows: list[tuple[str, list[Cell]]] = []
    for row in bar_rows(found, side, opened):
        end = 0.5 + row.value / longest / 2
        cell = Cell(
            text=decimal(row.value, 2, sign=True),
            says=f"{row.text}: {decimal(row.value, 3, sign=True)}",
            shade=math.copysign(SHADE, row.value),
            is_strong=bool(row.group),
            bar=(min(0.5, end), max(0.5, end)),
        )
        rows.append((row.name, [cell]))
    return Grid(
        title=tr(NAMES[side]),
        legend=tr(BARS),
        ends=("\u2212", "+"),
        scale="diverging",
        columns=[tr("sum {sum}", sum=decimal(found.total(side), 2, sign=True))],
        rows=rows,
        width=14,
    )
