"""Pictures of results as data for pictures.js."""

from collections.abc import Callable, Sequence, Set
from typing import Any

from core.analysis.pictures import Bars, Cell, Dots, Grid, Picture, Series
from core.text.phrases import Number
from core.trace import Head

Say = Callable[[str], str]  # a text in the language of the reader


Place = tuple[int, int]  # row and column, from 0
Mark = Head | Place


def picture_data(picture: Picture, say: Say = str, selected: Mark | Set[Mark] | None = None) -> dict[str, Any]:
    """Return the data of a picture, see `Picture` in pictures.js.

    Args:
        say: translates a phrase.
        selected: heads, or cells, that are marked.
    """
    marks = selected if isinstance(selected, Set) else {selected} - {None}
    if isinstance(picture, Dots):
        dots = [
            {
                "layer": dot.head.layer,
                "head": dot.head.head,
                "value": dot.value,
                "name": f"{dot.head.short}: {say(dot.says)}",
                "marked": dot.head in marks,
            }
            for dot in picture.dots
        ]
        texts = {"name": say(picture.title), "axis": say(picture.axis)}
        return {"kind": "dots", **texts, "dots": dots, "layers": picture.num_layers}
    columns = [say(name) for name in picture.columns]
    if isinstance(picture, Bars):
        texts = {"name": say(picture.title), "axis": say(picture.axis), "columns": columns}
        return {"kind": "bars", **texts, "series": [_series(each, columns, say) for each in picture.series]}
    of_groups = [say(name) for name, count in picture.groups for _ in range(count)] or [""] * len(columns)
    places = list(zip(of_groups, columns if len(columns) > 1 else [""], strict=True))
    return {
        "kind": "grid",
        "name": say(picture.title),
        "columns": columns,
        "rows": [
            {
                "name": (title := say(name)),
                "cells": [
                    cell
                    and {
                        "text": say(cell.text),
                        "name": f"{', '.join(filter(None, (title, *place)))}: {say(cell.says)}",
                        "shade": cell.shade,
                        "scale": cell.scale or picture.scale,
                        "bar": cell.bar,
                        "strong": cell.is_strong,
                        "marked": cell.head in marks or (row, column) in marks,
                    }
                    for column, (place, cell) in enumerate(zip(places, cells, strict=False))
                ],
            }
            for row, (name, cells) in enumerate(picture.rows)
        ],
        "groups": [[say(name), count] for name, count in picture.groups],
        "scale": picture.scale,
        "cellWidth": picture.width,
        "legend": {"title": say(picture.legend), "low": say(picture.ends[0]), "high": say(picture.ends[1])},
    }


def _series(series: Series, columns: Sequence[str], say: Say) -> dict[str, Any]:
    name, heads = say(series.name), series.heads or [None] * len(columns)
    bars = [
        {
            "value": value,
            "name": f"{name}, {column}: {say(Number(value, '+.3f'))}",
            "isButton": head is not None,
        }
        for column, value, head in zip(columns, series.values, heads, strict=True)
    ]
    return {"name": name, "color": series.color, "bars": bars}


def clicked_place(picture: Picture, value: object) -> Place | None:
    """Return the place that a click sent, as `{"row": 0, "column": 2}`; None if there is nothing there.

    The row of a dot is 0, and its column its number. The row of a bar is the number of its series.
    """
    match value:
        case {"row": int(row), "column": int(column)} if 0 <= row < len(marks := _marks(picture)):
            return (row, column) if 0 <= column < len(marks[row]) and marks[row][column] is not None else None
        case _:
            return None


def head_at(picture: Picture, place: Place) -> Head | None:
    """Return the head of a mark; None if it has none."""
    row, column = place
    mark = _marks(picture)[row][column]
    return mark.head if isinstance(mark, Cell) else mark


def _marks(picture: Picture) -> Sequence[Sequence[Cell | Head | None]]:
    match picture:
        case Dots():
            return [[dot.head for dot in picture.dots]]
        case Bars():
            return [each.heads for each in picture.series]
        case Grid():
            return [cells for _, cells in picture.rows]
