"""Pictures of results as data for pictures.js."""

import math
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.analysis.pictures import Bars, Cell, Curve, Curves, Dots, Grid, Picture, Series
from core.files.web_page import framed, web_page
from core.text.phrases import Number, Phrase, marked, numbers
from core.trace import Head

Say = Callable[[Sequence[str]], Sequence[str]]  # texts in the language of the reader
Place = tuple[int, int]  # row and column, from 0
Mark = Head | Place


def picture_data(picture: Picture, say: Say = list, selected: Mark | Set[Mark] | None = None) -> dict[str, Any]:
    """Return the data of a picture, see `Picture` in pictures.js.

    Args:
        say: translates phrases.
        selected: heads, or cells, that are marked.
    """
    marks = selected if isinstance(selected, Set) else {selected} - {None}
    if isinstance(picture, Dots):
        name, axis, *said = say([picture.title, picture.axis, *(dot.says for dot in picture.dots)])
        dots = [
            {
                "layer": dot.head.layer,
                "head": dot.head.head,
                "value": dot.value,
                "name": f"{dot.head.short}: {says}",
                "marked": dot.head in marks,
            }
            for dot, says in zip(picture.dots, said, strict=True)
        ]
        return {"kind": "dots", "name": name, "axis": axis, "dots": dots, "layers": picture.num_layers}
    if isinstance(picture, Curves):
        return _curves(picture, say)
    columns = say(picture.columns)
    if isinstance(picture, Bars):
        name, axis, below, *names = say([picture.title, picture.axis, picture.below, *(s.name for s in picture.series)])
        series = [_series(each, own, columns, say) for each, own in zip(picture.series, names, strict=True)]
        about = " ".join(say([_range(each, picture.columns) for each in picture.series]))
        labels = {"name": name, "about": about, "axis": axis, "below": below}
        return {"kind": "bars", **labels, "columns": columns, "series": series}
    name, legend, low, high = say([picture.title, picture.legend, *picture.ends])
    groups = list(zip(say([group for group, _ in picture.groups]), [count for _, count in picture.groups], strict=True))
    of_groups = [group for group, count in groups for _ in range(count)] or [""] * len(columns)
    places = list(zip(of_groups, columns if len(columns) > 1 else [""], strict=True))
    rows: list[dict[str, Any]] = []
    titles = say([title for title, _ in picture.rows])
    for row, (title, (_, cells)) in enumerate(zip(titles, picture.rows, strict=True)):
        words = say([text for cell in cells for text in ((cell.text, cell.says) if cell else ("", ""))])
        data = [
            cell
            and {
                "text": text,
                "name": f"{', '.join(filter(None, (title, *place)))}: {says}",
                "shade": cell.shade,
                "scale": cell.scale or picture.scale,
                "bar": cell.bar,
                "strong": cell.is_strong,
                "marked": cell.head in marks or (row, column) in marks,
            }
            for column, (place, cell, text, says) in enumerate(
                zip(places, cells, words[::2], words[1::2], strict=False)
            )
        ]
        rows.append({"name": title, "cells": data})
    return {
        "kind": "grid",
        "name": name,
        "columns": columns,
        "rows": rows,
        "groups": groups,
        "scale": picture.scale,
        "cellWidth": picture.width,
        "legend": {"title": legend, "low": low, "high": high},
    }


def _series(series: Series, name: str, columns: Sequence[str], say: Say) -> dict[str, Any]:
    heads, said = series.heads or [None] * len(columns), say(series.says or numbers(series.values, "+.3f"))
    names = said if series.says else [f"{name}, {column}: {each}" for column, each in zip(columns, said, strict=True)]
    bars = [
        {"value": value, "name": says, "isButton": head is not None}
        for value, says, head in zip(series.values, names, heads, strict=True)
    ]
    return {"name": name, "color": series.color, "bars": bars}


def _range(series: Series, columns: Sequence[str]) -> Phrase:
    """Least and largest bar, for screen readers."""
    (low, low_place), (high, high_place) = (end(zip(series.values, columns, strict=True)) for end in (min, max))
    return Phrase(
        marked("{name}: lowest {low} at {low_place}, highest {high} at {high_place}."),
        name=series.name,
        low=Number(low, ".3g"),
        low_place=low_place,
        high=Number(high, ".3g"),
        high_place=high_place,
    )


def _curves(picture: Curves, say: Say) -> dict[str, Any]:
    name, axis, below = say([picture.title, picture.axis, picture.below])
    names = say([each.name for each in picture.curves])
    curves = [
        {
            "name": name,
            "says": says or ", ".join(filter(None, (name, "{x}: {y}"))),
            "color": each.color,
            "dash": each.dash,
            "width": each.width,
            "shape": each.shape,
            "points": [
                (float(place), float(value)) if _is_drawn(picture, value) else None
                for place, value in zip(each.places, each.values, strict=True)
            ],
        }
        for each, name, says in zip(picture.curves, names, say([each.says for each in picture.curves]), strict=True)
    ]
    return {
        "kind": "curves",
        "name": name,
        "about": " ".join(
            [f"{axis}; {below}.", *say([text for each in picture.curves for text in _spoken(picture, each)])]
        ),
        "axis": axis,
        "below": below,
        "places": list(
            zip([place for place, _ in picture.names], say([name for _, name in picture.names]), strict=True)
        ),
        "limits": picture.limits,
        "scale": picture.scale,
        "rules": picture.rules,
        "current": picture.current,
        "curves": curves,
    }


def _is_drawn(picture: Curves, value: float) -> bool:
    return math.isfinite(value) and (picture.scale != "log" or value > 0)


def _spoken(picture: Curves, curve: Curve) -> Iterator[Phrase]:
    """Ends and range of a named or the only curve, for screen readers; none of faint lines, which help the eye."""
    points = [
        (value, place) for place, value in zip(curve.places, curve.values, strict=True) if _is_drawn(picture, value)
    ]
    name = curve.name or (picture.title if len(picture.curves) == 1 else "")
    if not name or curve.color is None or not points:
        return
    (low, low_place), (high, high_place) = min(points), max(points)
    names, form = dict(picture.names), ".1%" if picture.scale == "share" else ".3g"
    texts = dict(
        zip(("begin", "end", "low", "high"), numbers([points[0][0], points[-1][0], low, high], form), strict=True)
    )
    yield Phrase(
        marked("{name}: {begin} at first, {end} at last; lowest {low} at {low_place}, highest {high} at {high_place}."),
        name=name,
        low_place=names.get(low_place, Number(low_place, ",g")),
        high_place=names.get(high_place, Number(high_place, ",g")),
        **texts,
    )


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
        case Curves():
            return []
        case Grid():
            return [cells for _, cells in picture.rows]


_SCRIPT = Path(__file__).parents[1] / "drawing" / "pictures_page.js"
_HEIGHT = 420  # pixels of the frame in a notebook


@dataclass(frozen=True)
class PicturePage:
    """An answer and its pictures; a notebook shows it by itself."""

    answer: str
    pictures: Sequence[Picture]
    texts: Sequence[Sequence[str]] = ()  # paragraphs above each picture; empty for none
    links: Sequence[str] = ()  # addresses in the app that each picture leads to; empty for none

    def html(self) -> str:
        """A web page that works offline."""
        pictures = [picture_data(each) for each in self.pictures]
        return web_page(self.answer, _SCRIPT, {**vars(self), "pictures": pictures})

    def _repr_html_(self) -> str:
        return framed(self.html(), self.answer, _HEIGHT)
