"""Pictures of results as data for pictures.js."""

from collections.abc import Callable
from typing import Any

from core.analysis.pictures import Dots, Picture
from core.trace import Head

Say = Callable[[str], str]  # a text in the language of the reader


def picture_data(picture: Picture, say: Say = str, selected: Head | None = None) -> dict[str, Any]:
    """Return the data of a picture, see `Picture` in pictures.js.

    Args:
        say: translates a phrase.
        selected: head that is marked.
    """
    if isinstance(picture, Dots):
        dots = [
            {
                "layer": dot.head.layer,
                "head": dot.head.head,
                "value": dot.value,
                "name": f"{dot.head.short}: {say(dot.says)}",
                "marked": dot.head == selected,
            }
            for dot in picture.dots
        ]
        texts = {"name": say(picture.title), "axis": say(picture.axis)}
        return {"kind": "dots", **texts, "dots": dots, "layers": picture.num_layers}
    columns = [say(name) for name in picture.columns]
    return {
        "kind": "grid",
        "name": say(picture.title),
        "columns": columns,
        "rows": [
            {
                "name": (row := say(name)),
                "cells": [
                    cell
                    and {
                        "text": say(cell.text),
                        "name": f"{row}, {column}: {say(cell.says)}",
                        "shade": cell.shade,
                        "grey": cell.is_grey,
                        "strong": cell.is_strong,
                        "marked": cell.head is not None and cell.head == selected,
                    }
                    for column, cell in zip(columns, cells, strict=False)
                ],
            }
            for name, cells in picture.rows
        ],
        "scale": picture.scale,
        "cellWidth": picture.width,
        "legend": {"title": say(picture.legend), "low": say(picture.ends[0]), "high": say(picture.ends[1])},
    }


def clicked_head(picture: Picture, value: object) -> Head | None:
    """Return the head that a click sent, `{"row": 0, "column": 2}` or `{"dot": 5}`; None if there is none there."""
    match value:
        case {"dot": int(number)} if isinstance(picture, Dots) and 0 <= number < len(picture.dots):
            return picture.dots[number].head
        case {"row": int(row), "column": int(column)} if not isinstance(picture, Dots) and 0 <= row < len(picture.rows):
            cells = picture.rows[row][1]
            cell = cells[column] if 0 <= column < len(cells) else None
            return cell and cell.head
        case _:
            return None
