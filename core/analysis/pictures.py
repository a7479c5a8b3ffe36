"""Pictures of results as data: what stands where, without colours, sizes or a library.

`core/drawing/pictures.js` draws them wherever a result is shown: in the app, in a notebook, on a page of their own.
Texts are phrases, which the app translates; other strings, such as tokens, stay as they are.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from core.text.phrases import Number, Phrase, marked, numbers
from core.trace import Head

Scale = Literal["sequential", "diverging", "greys"]  # of colours, from 0 to 1 or from -1 to 1


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A cell of a grid.

    Attributes:
        text: written in it.
        says: its meaning, shown on hover and read by screen readers.
        shade: its place on the scale of the grid; what is outside is drawn at its end.
        head: that a click selects; None without one.
        scale: its own, if it is not that of the grid.
        is_strong: whether its text is bold.
        bar: ends of a bar below the text, as shares of the width, which has the colour; None colours the whole cell.
    """

    text: str
    says: str
    shade: float
    head: Head | None = None
    scale: Scale | None = None
    is_strong: bool = False
    bar: tuple[float, float] | None = None


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Cells in rows and columns, coloured by one scale.

    Attributes:
        title: name of the picture.
        legend: meaning of the colours.
        ends: texts at both ends of their scale.
        columns: names.
        rows: the name and the cells of each; None leaves a gap.
        groups: names above several columns each, with their number.
        width: least one of a cell, in characters.
    """

    title: str
    legend: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Cell | None]]]
    groups: Sequence[tuple[str, int]] = ()
    ends: tuple[str, str] = ("0", "1")
    scale: Scale = "sequential"
    width: int = 4


@dataclass(frozen=True, kw_only=True)
class Dot:
    """A number of a head; `says` is its meaning, as of a `Cell`."""

    head: Head
    value: float
    says: str


@dataclass(frozen=True, kw_only=True)
class Dots:
    """A number for each of several heads of one kind, over their layers, with the mean of each layer.

    Attributes:
        title: name of the picture.
        axis: meaning of the numbers.
        dots: of the heads that have a number.
        num_layers: of the kind.
    """

    title: str
    axis: str
    dots: Sequence[Dot]
    num_layers: int


@dataclass(frozen=True, kw_only=True)
class Series:
    """Bars of one colour, one for each column of a picture.

    Attributes:
        color: its place among the colours of heads.
        heads: that a click on a bar selects; empty if the series has none.
        says: of each bar on hover; by default its series, column and value.
    """

    name: str
    color: int
    values: Sequence[float]
    heads: Sequence[Head | None] = ()
    says: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Bars:
    """Signed numbers in columns, stacked away from 0.

    Attributes:
        title: name of the picture.
        axis: meaning of the numbers.
        columns: names.
        below: meaning of the columns.
    """

    title: str
    axis: str
    columns: Sequence[str]
    series: Sequence[Series]
    below: str = ""


@dataclass(frozen=True, kw_only=True)
class Curve:
    """A line through points.

    Attributes:
        name: in the legend; "" for none there.
        places, values: of its points; a value that is not finite leaves a gap.
        color: its place among the colours of heads; None for a faint line.
        width: in pixels.
        shape: a line, its points, both, a ring around each, or bars from 0 at places as far from each other.
        says: of a point on hover, with "{x}" and "{y}" for its place and value; by default the name and both.
    """

    name: str
    places: Sequence[float]
    values: Sequence[float]
    color: int | None
    dash: Literal["solid", "dash", "dot"] = "solid"
    width: float = 2
    shape: Literal["line", "points", "both", "ring", "bars"] = "line"
    says: str = ""


@dataclass(frozen=True, kw_only=True)
class Curves:
    """Lines over numbers, or over places with names.

    Attributes:
        title: name of the picture.
        axis: meaning of the values.
        below: meaning of the places.
        names: of places, from left to right; without them places are numbers with a scale.
        limits: least and largest value of the scale; None for that of the curves.
        scale: of the values, which are written in percent if they are shares; on a logarithmic one those that are not
            above 0 leave a gap.
        rules: places of vertical lines.
        current: the place of the strong one of them.
    """

    title: str
    axis: str
    below: str
    curves: Sequence[Curve]
    names: Sequence[tuple[float, str]] = ()
    limits: tuple[float | None, float | None] = (None, None)
    scale: Literal["linear", "log", "share"] = "linear"
    rules: Sequence[float] = ()
    current: float | None = None


Picture = Grid | Dots | Bars | Curves


# --- bars in cells ----------------------------------------------------------------------------------------------------

SHADE = 0.7  # place of the colours of bars on their scales


def bar_cell(
    value: float, longest: float, *, signed: bool = True, says: str | None = None, is_strong: bool = False
) -> Cell:
    """Cell with a bar as a share of the longest one: from the middle to either side or, without signs, from the left.

    Args:
        says: by default the number.
    """
    length, sign = value / longest, "+" if signed else ""
    return Cell(
        text=Number(value, f"{sign}.2f"),
        says=says or Number(value, f"{sign}.3f"),
        shade=math.copysign(SHADE, value) if signed else 0.6 * SHADE,
        scale="diverging" if signed else "sequential",
        is_strong=is_strong,
        bar=(min(0.5, 0.5 + length / 2), max(0.5, 0.5 + length / 2)) if signed else (0.0, length),
    )


# --- signed effects ---------------------------------------------------------------------------------------------------

LEAST_LIMIT = 0.1  # nats: a smaller scale would show noise
LARGE = 9.95  # nats: written without decimals
SMALLEST = 0.05  # of a written number: a cell with a smaller one is empty


def effect_limit(effects: Sequence[float]) -> float:
    """End of a scale centred at 0: the largest absolute effect, at least `LEAST_LIMIT`."""
    return max(LEAST_LIMIT, *(abs(effect) for effect in effects), 0.0)


def effect_share(effect: float, limit: float) -> float:
    """Place of an effect, from -1 to 1, on the scale from -limit to limit.

    arsinh(effect / c) / arsinh(limit / c) with c = `LEAST_LIMIT`: linear below c, logarithmic above. One head can cost
    the translation 100 times as much as most others, whose colours would look alike on a linear scale.
    """
    share = math.asinh(effect / LEAST_LIMIT) / math.asinh(limit / LEAST_LIMIT)
    return min(max(share, -1.0), 1.0)


def effect_cells(effects: Sequence[float], limit: float, heads: Sequence[Head | None] = ()) -> list[Cell]:
    """Cells of effects in nats, in a grid with the diverging scale from -limit to limit.

    Args:
        heads: that a click selects, one for each effect, or none.
    """
    texts, said = numbers(effects, "+.1f"), numbers(effects, "+.3f")
    cells: list[Cell] = []
    for effect, text, says, head in zip(effects, texts, said, heads or [None] * len(effects), strict=True):
        if abs(effect) < SMALLEST:
            text = ""
        elif abs(effect) >= LARGE:
            text = Number(effect, "+.0f")
        cells.append(Cell(text=text, says=says, shade=effect_share(effect, limit), head=head))
    return cells


def short_form(effect: float) -> str:
    """Form of a written effect, which takes four characters at most below 1,000 nats."""
    return "+.1f" if abs(effect) < LARGE else "+.0f"


def effect_ends(limit: float) -> tuple[str, str]:
    """Texts at the ends of that scale."""
    return Number(-limit, ".1f"), Number(limit, "+.1f")


def effects_row(title: str, columns: Sequence[str], effects: Sequence[float]) -> Grid:
    """A grid with one row of effects in nats."""
    limit = effect_limit(effects)
    return Grid(
        title=title,
        legend=Phrase(marked("effect in nats")),
        ends=effect_ends(limit),
        scale="diverging",
        columns=columns,
        rows=[("", effect_cells(effects, limit))],
        width=6,
    )
