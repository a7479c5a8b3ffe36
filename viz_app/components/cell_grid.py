"""A grid of cells on the page; a click on a cell is sent to the server."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from viz_app.components.component import component_beside, draw
from viz_app.drawing.cell_grid import CellGrid

GridPlace = tuple[int, int]  # row and column, from 0

_component = component_beside(__file__)


def grid_payload(grid: CellGrid, clickable: bool = True) -> dict[str, Any]:
    """Return the data of a grid, see `Data` in cell_grid.js."""
    return {
        "columns": list(grid.columns),
        "rows": [
            {
                "name": name,
                "cells": [None if cell is None else asdict(cell) for cell in cells],
                "word": word,
                "selected": word in grid.selected,
            }
            for (name, cells), word in zip(grid.rows, grid.words or [""] * len(grid.rows), strict=True)
        ],
        "groups": [list(group) for group in grid.groups],
        "name": grid.name,
        "cellWidth": grid.cell_width,
        "legend": grid.legend and grid.legend._asdict(),
        "clickable": clickable,
    }


def cell_grid(grid: CellGrid, on_click: Callable[[GridPlace], None] | None = None, *, key: str) -> None:
    """Draw a grid on the page.

    Args:
        on_click: Called with the row and the column of a clicked cell, before the page runs again; None: cells are no
            buttons.
        key: Key of the component, as for any widget.
    """
    payload = grid_payload(grid, on_click is not None)
    draw(_component, payload, key, "cell", lambda value: clicked_cell(value, grid), on_click or (lambda _: None))


def clicked_cell(value: object, grid: CellGrid) -> GridPlace | None:
    """Return the cell that the browser sent, or None if there is no such cell."""
    match value:
        case {"row": int(row), "column": int(column)} if 0 <= row < len(grid.rows):
            cells = grid.rows[row][1]
            return (row, column) if 0 <= column < len(cells) and cells[column] is not None else None
        case _:
            return None
