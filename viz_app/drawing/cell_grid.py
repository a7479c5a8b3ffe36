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


def signed_rows(
    values: Sequence[Sequence[float]],
    names: Sequence[Sequence[str]],
    limit: float,
    theme: Theme,
    marked: tuple[int, int] | None = None,
) -> list[list[GridCell | None]]:
    """Return rows of cells for signed numbers on a diverging scale from -limit to limit.

    Args:
        marked: row and column of the cell with a frame; None: no cell has one.
    """
    flat = [value for row in values for value in row]
    looks = zip(
        localized_all(flat, "+.1f"), localized_all(flat, "+.3f"), effect_colors(flat, limit, theme), strict=True
    )
    return [
        [
            GridCell(
                text=short if abs(value) >= SMALLEST else "",
                name=f"{name}: {exact}",
                color=color,
                text_color=ink,
                marked=(row, column) == marked,
            )
            for column, (value, name, (short, exact, (color, ink))) in enumerate(zip(of_row, own, looks, strict=False))
        ]
        for row, (of_row, own) in enumerate(zip(values, names, strict=True))
    ]


def signed_cells(values: Sequence[float], names: Sequence[str], limit: float, theme: Theme) -> list[GridCell | None]:
    """Return one row of cells, see `signed_rows`."""
    return signed_rows([values], [names], limit, theme)[0]


def signed_legend(title: str, limit: float, theme: Theme) -> Legend:
    """Return the legend of `signed_rows`."""
    colors = theme.diverging[0], theme.background, theme.diverging[-1]
    return Legend(title, colors, localized(-limit, ".1f"), localized(limit, "+.1f"))
