"""Grids of cells as files."""

import re
from dataclasses import replace
from typing import Any

import pytest

from viz_app.drawing.cell_grid import CellGrid, signed_cells, signed_legend, signed_rows
from viz_app.drawing.export.cell_grid import export_grid
from viz_app.drawing.theme import DARK

GRID = CellGrid(
    columns=["A$x", "B"],
    rows=[
        ("<b>", [*signed_rows([[1.5]], [["one"]], 2.0, DARK, (0, 0))[0], None]),
        ("second", signed_cells([0.01], ["x"], 2.0, DARK)),
    ],
    name="grid",
    groups=(("both", 2),),
    legend=signed_legend("nats", 2.0, DARK),
)


@pytest.mark.parametrize("file_format", ["svg", "png"])
def test_a_grid_is_drawn_without_a_picture_of_dots(file_format: Any) -> None:
    file = export_grid(GRID, file_format, DARK, title="nats")
    assert file.startswith({"svg": b"<?xml", "png": b"\x89PNG"}[file_format])
    assert b"<image" not in file


def test_names_and_numbers_are_text() -> None:
    drawn = export_grid(GRID, "svg", DARK, title="nats").decode()
    assert all(f">{text}<" in drawn for text in ("A$x", "B", "&lt;b&gt;", "second", "both", "+1.5", "nats"))


def test_a_bar_is_as_wide_as_its_share_of_the_cell() -> None:
    def width(bar: tuple[float, float] | None) -> float:
        [cell] = signed_cells([1.0], ["one"], 1.0, DARK)
        assert cell is not None
        cell = replace(cell, color="#123456", bar=bar)
        grid = CellGrid(columns=["A"], rows=[("x", [cell])], name="grid")
        path = re.search(r'd="M ([\d.]+) [^"]*"[^>]*style="fill: #123456', export_grid(grid, "svg", DARK).decode())
        assert path
        places = [float(x) for x in re.findall(r"[ML] ([\d.]+) ", path[0])]
        return max(places) - min(places)

    whole = width(None)
    assert width((0.5, 0.75)) == pytest.approx(whole / 4, rel=0.01)
    assert width((0.0, 1.0)) == pytest.approx(whole, rel=0.01)


def test_other_formats_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown format 'gif'"):
        export_grid(GRID, "gif")  # type: ignore[arg-type]
