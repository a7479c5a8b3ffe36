"""Grids of cells as files."""

from typing import Any

import pytest

from viz_app.figures.cell_grid import CellGrid, signed_cell, signed_legend
from viz_app.figures.export.cell_grid import export_grid
from viz_app.figures.theme import DARK

GRID = CellGrid(
    columns=["A$x", "B"],
    rows=[
        ("<b>", [signed_cell(1.5, "one", 2.0, DARK, marked=True), None]),
        ("second", [signed_cell(0.01, "x", 2.0, DARK)]),
    ],
    name="grid",
    groups=(("both", 2),),
    legend=signed_legend("nats", 2.0, DARK),
)


@pytest.mark.parametrize("file_format", ["svg", "pdf", "png"])
def test_a_grid_comes_in_every_format_without_a_picture_of_dots(file_format: Any) -> None:
    file = export_grid(GRID, file_format, DARK, title="nats")
    assert file.startswith({"svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG"}[file_format])
    assert b"<image" not in file


def test_names_and_numbers_are_text() -> None:
    drawn = export_grid(GRID, "svg", DARK, title="nats").decode()
    assert all(f">{text}<" in drawn for text in ("A$x", "B", "&lt;b&gt;", "second", "both", "+1.5", "nats"))


def test_other_formats_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown format 'gif'"):
        export_grid(GRID, "gif")  # type: ignore[arg-type]
