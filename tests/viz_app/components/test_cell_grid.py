import json
from dataclasses import replace

import pytest

from viz_app.components.cell_grid import clicked_cell, grid_payload
from viz_app.drawing.cell_grid import CellGrid, signed_cells, signed_legend
from viz_app.drawing.theme import LIGHT

GRID = CellGrid(
    columns=["A", "B"],
    rows=[
        ("L1", [signed_cells([-2.0], ["one"], 2.0, LIGHT)[0], None]),
        ("L2", [signed_cells([0.5], ["two"], 2.0, LIGHT)[0]]),
    ],
    name="grid",
    legend=signed_legend("nats", 2.0, LIGHT),
)


def test_payload() -> None:
    payload = json.loads(json.dumps(grid_payload(GRID)))
    first, gap = payload["rows"][0]["cells"]
    assert (first["text"], first["name"], first["color"]) == ("\u22122.0", "one: \u22122.000", LIGHT.diverging[0])
    assert gap is None
    assert first["bar"] is None
    assert payload["legend"] == {
        "title": "nats",
        "colors": [LIGHT.diverging[0], LIGHT.background, LIGHT.diverging[-1]],
        "low": "\u22122.0",
        "high": "+2.0",
    }
    assert payload["clickable"]
    assert not grid_payload(GRID, clickable=False)["clickable"]


def test_the_name_of_a_row_may_be_a_word_of_the_sentence() -> None:
    rows = grid_payload(replace(GRID, words=["", "source 1"], selected={"source 1"}))["rows"]
    assert [(row["word"], row["selected"]) for row in rows] == [("", False), ("source 1", True)]
    assert {row["word"] for row in grid_payload(GRID)["rows"]} == {""}


def test_a_click_names_a_cell() -> None:
    assert clicked_cell({"row": 1, "column": 0}, GRID) == (1, 0)


@pytest.mark.parametrize(
    "value",
    [
        None,
        "cell",
        {"row": 0},
        {"row": 2, "column": 0},
        {"row": 0, "column": 1},
        {"row": 1, "column": 1},
        {"row": -1, "column": 0},
    ],
)
def test_what_is_no_cell_is_nothing(value: object) -> None:
    assert clicked_cell(value, GRID) is None
