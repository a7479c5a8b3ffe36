"""Pictures of results as data: what stands where, without colours, sizes or a library.

`core/drawing/pictures.js` draws them wherever a result is shown: in the app, in a notebook, on a page of their own.
Texts are phrases, which the app translates; other strings, such as tokens, stay as they are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from core.trace import Head

Scale = Literal["sequential", "diverging"]  # of colours, from 0 to 1 or from -1 to 1


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A cell of a grid.

    Attributes:
        text: written in it.
        says: its meaning, shown on hover and read by screen readers.
        shade: its place on the scale of the grid; what is outside is drawn at its end.
        head: that a click selects; None without one.
        is_grey: whether its shade is one of grey: what does not count.
        is_strong: whether its text is bold.
    """

    text: str
    says: str
    shade: float
    head: Head | None = None
    is_grey: bool = False
    is_strong: bool = False


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Cells in rows and columns, coloured by one scale.

    Attributes:
        title: name of the picture.
        legend: meaning of the colours.
        ends: texts at both ends of their scale.
        columns: names.
        rows: the name and the cells of each; None leaves a gap.
        width: least one of a cell, in characters.
    """

    title: str
    legend: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Cell | None]]]
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


Picture = Grid | Dots
