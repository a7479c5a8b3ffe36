"""The products behind a cell of a map: the pages they lead to, and the parameters kept in the address."""

import math

import pytest
from streamlit.testing.v1 import AppTest

from core.analysis.heads.head import Head
from tests.viz_app.pages import Start, healthy, opened, reading, state_of
from viz_app.controls import score_products
from viz_app.controls.score_products import (
    ClickedCell,
    MapCells,
    cell_text,
    head_cells,
    no_products,
    parsed_cell,
    written_cell,
)
from viz_app.session.map_pass import Cell, reading_pass
from viz_app.session.readings import TokenView
from viz_app.session.step_place import StepPlace
from viz_app.views.heads.alignment import aligner_list

CELL = Cell(Head("cross", 1, 2), 0, 1)


def headline(app: AppTest) -> list[str]:
    return [each.value for each in app.markdown if "whose sum is the score" in each.value]


def test_a_click_on_a_word_selects_its_pair_of_the_largest_weight(
    app: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    healthy(app.run())
    about, objects = reading(app), {ClickedCell: ClickedCell(), StepPlace: StepPlace()}
    monkeypatch.setattr(score_products, "session_object", objects.__getitem__)
    monkeypatch.setattr(score_products.readings, "reading", lambda: about)
    of, head = reading_pass(about), Head("cross", 1, 3)
    view, own = TokenView(words=True, hide_special=False), about.explain().maps["cross"][1]
    cells = MapCells("map", of, head_cells(own, head, view))
    cells.click(((3,), 0, 0))
    clicked = objects[ClickedCell]
    assert isinstance(clicked, ClickedCell)
    assert clicked.cell is not None
    assert (clicked.key, clicked.of, clicked.cell.head) == ("map", about.identity, head)
    _, queries, keys = head_cells(own, head, view)(0, 0) or (None, (), ())
    assert own.weights[3][clicked.cell[1:]] == own.weights[3][list(queries)][:, list(keys)].max()
    found = of.products(clicked.cell)
    assert found.weight == pytest.approx(float(own.weights[3][clicked.cell[1:]]), abs=1e-5)
    start = objects[StepPlace].start  # type: ignore[attr-defined]
    assert (start.position, start.pick) == clicked.cell[1:]  # pyright: ignore[reportOptionalMemberAccess]
    before = clicked.cell
    cells.click(((3,), 0, None))  # a whole row
    assert clicked.cell == before


@pytest.mark.parametrize(
    ("page", "key", "address"),
    [
        ("heads", "map_0", {"view": "map", "heads_cross": "L2 H3"}),
        ("heads", "joint_map", {"kind": "joint", "joint_head": "H3"}),
        ("compare", "compare_second_cross_map", {"compare_head_cross": "L2 H3"}),
        ("contributions", "logit-map", {"term": "cross L2 H3"}),
        ("positions", "scores", {"positions_view": "first_layer", "score_kind": "decoder_self", "score_head": "L1 H3"}),
        ("alignment", "ribbon", {aligner_list.ALIGNER.key: "L2 H3"}),
    ],
)
def test_every_page_with_a_map_shows_the_products_of_the_address(
    start: Start, page: str, key: str, address: dict[str, str]
) -> None:
    cell = Cell(Head("decoder_self", 0, 2), 1, 0) if page == "positions" else CELL
    app = start(beam_size="2", text="Where?", products=written_cell(key, cell), **address)
    opened(app, page)
    (said,) = headline(app)
    assert state_of(app, ClickedCell).cell == cell
    assert any("products sum to the score" in each.value for each in app.markdown)
    assert app.query_params["products"] == written_cell(key, cell)
    if page != "compare":  # there the second hypothesis has another row
        found = reading_pass(reading(app)).products(cell)
        assert said == cell_text(reading(app).explain().maps[cell.head.kind][cell.head.layer], cell, found)


def test_another_head_or_an_address_that_names_nothing_shows_no_products(start: Start) -> None:
    for wrong in (written_cell("map_0", Cell(Head("cross", 1, 2), 99, 0)), "map_0.cross.0.1.1.1", "<b>"):
        app = opened(start(beam_size="2", text="Where?", view="map", heads_cross="L2 H3", products=wrong), "heads")
        assert not headline(app)
        assert any("Click a cell" in each.value for each in app.caption)


def test_cells_are_written_and_parsed() -> None:
    assert parsed_cell(written_cell("paths-map-1", CELL)) == ("paths-map-1", CELL)
    assert parsed_cell("map_0.nothing.1.1.1.1") is None


def test_a_hidden_key_is_said_to_be_hidden_and_only_attention_of_one_head_has_products(app: AppTest) -> None:
    healthy(app.run())
    about, cell = reading(app), Cell(Head("decoder_self", 0, 0), 0, 1)
    found = reading_pass(about).products(cell)
    assert math.isnan(found.gap)
    assert "hidden from" in cell_text(about.explain().maps["decoder_self"][0], cell, found)
    assert no_products(about.model, "attention", True) == ""
    assert "combination of heads has no single product" in no_products(about.model, "attention", False)
    assert "ALTI" in no_products(about.model, "contributions", True)
