"""A grid of cells with text and colour: layers by heads, tokens by layers."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from viz_app.drawing.ablation import effect_colors
from viz_app.drawing.theme import Theme
from viz_app.language import localized, localized_all

SMALLEST = 0.05  # in a unit of the last decimal that is written: smaller values leave a cell empty


@dataclass(frozen=True, kw_only=True)
class GridCell:
    """One cell.

    Attributes:
        text: Written in it.
        name: Its meaning, for screen readers and on hover; lines are separated by line breaks.
        color, text_color: As #rrggbb.
        marked: Whether it has a frame.
        strong: Whether its text is bold.
        bar: Ends of a bar of this colour below the text, as shares of the width; None colours the whole cell.
    """

    text: str
    name: str
    color: str
    text_color: str
    marked: bool = False
    strong: bool = False
    bar: tuple[float, float] | None = None


class Legend(NamedTuple):
    """Legend of a grid: the meaning of its colours, with the two ends of their scale."""

    title: str
    colors: tuple[str, ...]
    low: str
    high: str


@dataclass(frozen=True, kw_only=True)
class CellGrid:
    """Cells in rows and columns.

    Attributes:
        columns: Names of the columns.
        rows: Name and cells of each row; None leaves a gap.
        name: Of the grid, for screen readers.
        cell_width: Least width of a cell, in characters.
        legend: None without a legend.
        groups: Names above several columns each, with their number.
        words: For each row the name of the sentence's word that a click on the row's name selects, "" for none; may be
            empty.
        selected: Names of the words that are selected.
    """

    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[GridCell | None]]]
    name: str
    cell_width: int = 4
    legend: Legend | None = None
    groups: Sequence[tuple[str, int]] = ()
    words: Sequence[str] = ()
    selected: Collection[str] = ()


def signed_cells(
    values: Sequence[float], names: Sequence[str], limit: float, theme: Theme, marked: int | None = None
) -> list[GridCell | None]:
    """Return cells for signed numbers on a diverging scale from -limit to limit.

    Args:
        marked: the number of the cell with a frame; None: no cell has one.
    """
    short, exact = localized_all(values, "+.1f"), localized_all(values, "+.3f")
    colors = effect_colors(values, limit, theme)
    return [
        GridCell(
            text=short[index] if abs(value) >= SMALLEST else "",
            name=f"{name}: {exact[index]}",
            color=colors[index][0],
            text_color=colors[index][1],
            marked=index == marked,
        )
        for index, (value, name) in enumerate(zip(values, names, strict=True))
    ]


def signed_legend(title: str, limit: float, theme: Theme) -> Legend:
    """Return the legend of `signed_cells`."""
    colors = theme.diverging[0], theme.background, theme.diverging[-1]
    return Legend(title, colors, localized(-limit, ".1f"), localized(limit, "+.1f"))
