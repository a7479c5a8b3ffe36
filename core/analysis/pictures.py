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
    """A cell of a grid."""

    text: str  # written in it
    says: str  # its meaning, shown on hover and read by screen readers
    shade: float  # its place on the scale of the grid; what is outside is drawn at its end
    head: Head | None = None  # that a click selects; None without one
    scale: Scale | None = None  # its own, if it is not that of the grid
    is_strong: bool = False  # whether its text is bold
    # ends of a bar below the text, as shares of the width, which has the colour; None colours the whole cell
    bar: tuple[float, float] | None = None


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Cells in rows and columns, coloured by one scale."""

    title: str  # name of the picture
    legend: str  # meaning of the colours
    columns: Sequence[str]  # names
    rows: Sequence[tuple[str, Sequence[Cell | None]]]  # the name and the cells of each; None leaves a gap
    groups: Sequence[tuple[str, int]] = ()  # names above several columns each, with their number
    ends: tuple[str, str] = ("0", "1")  # texts at both ends of their scale
    scale: Scale = "sequential"
    width: int = 4  # least one of a cell, in characters


@dataclass(frozen=True, kw_only=True)
class Dot:
    """A number of a head; `says` is its meaning, as of a `Cell`."""

    head: Head
    value: float
    says: str


@dataclass(frozen=True, kw_only=True)
class Dots:
    """A number for each of several heads of one kind, over their layers, with the mean of each layer."""

    title: str  # name of the picture
    axis: str  # meaning of the numbers
    dots: Sequence[Dot]  # of the heads that have a number
    num_layers: int  # of the kind


@dataclass(frozen=True, kw_only=True)
class Series:
    """Bars of one colour, one for each column of a picture."""

    name: str
    color: int  # its place among the colours of heads
    values: Sequence[float]
    heads: Sequence[Head | None] = ()  # that a click on a bar selects; empty if the series has none
    says: Sequence[str] = ()  # of each bar on hover; by default its series, column and value


@dataclass(frozen=True, kw_only=True)
class Bars:
    """Signed numbers in columns, stacked away from 0."""

    title: str  # name of the picture
    axis: str  # meaning of the numbers
    columns: Sequence[str]  # names
    series: Sequence[Series]
    below: str = ""  # meaning of the columns


@dataclass(frozen=True, kw_only=True)
class Curve:
    """A line through points."""

    name: str  # in the legend; "" for none there
    places: Sequence[float]  # of its points, as `values`; a value that is not finite leaves a gap
    values: Sequence[float]
    color: int | None  # its place among the colours of heads; None for a faint line
    dash: Literal["solid", "dash", "dot"] = "solid"
    width: float = 2  # in pixels
    shape: Literal["line", "points", "both", "ring", "bars"] = "line"  # bars are from 0, at even places
    says: str = ""  # of a point on hover, with "{x}" and "{y}" for its place and value; by default the name and both


@dataclass(frozen=True, kw_only=True)
class Curves:
    """Lines over numbers, or over places with names."""

    title: str  # name of the picture
    axis: str  # meaning of the values
    below: str  # meaning of the places
    curves: Sequence[Curve]
    # of places, from left to right; without them places are numbers with a scale
    names: Sequence[tuple[float, str]] = ()
    # least and largest value of the scale; None for that of the curves
    limits: tuple[float | None, float | None] = (None, None)
    # of the values, in percent if they are shares; on a logarithmic one values of at most 0 leave a gap
    scale: Literal["linear", "log", "share"] = "linear"
    rules: Sequence[float] = ()  # places of vertical lines
    current: float | None = None  # the place of the strong one of them


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
