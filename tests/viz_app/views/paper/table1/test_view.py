"""The page "Table 1" without a browser, and the measurements that come with it."""

from functools import cache

import pytest
from streamlit.testing.v1 import AppTest

from core.analysis.layers import path_length
from core.analysis.layers.layer_cost import grid, shipped_costs
from core.analysis.layers.layer_types import LAYER_TYPES, Sizes
from tests.viz_app.pages import Start, comes_to, healthy, picture_files, state_of, to_page
from viz_app.session.fields import Field
from viz_app.views.paper.table1 import layer_costs
from viz_app.views.paper.table1.layer_costs import LayerMeasurementSlot


@pytest.fixture
def why(start: Start, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    """Its paths are counted for short sequences alone."""
    monkeypatch.setattr(path_length, "TRACED", (2, 4, 8))
    monkeypatch.setattr(path_length, "path_lengths", cache(path_length.path_lengths.__wrapped__))
    return to_page(start(beam_size="1", text="Where?"), "why")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small layers alone are measured, and not for long."""
    monkeypatch.setattr(layer_costs, "MAX_OPERATIONS", 2**16)
    monkeypatch.setattr(layer_costs, "SECONDS", 0)


def test_what_is_shipped_was_measured_at_everything_the_sliders_offer() -> None:
    ns, ds, ks, rs = layer_costs.NS, layer_costs.DS, layer_costs.KS, layer_costs.RS
    table = shipped_costs()
    assert len(table.costs) == len(grid(ns, ds, ks, rs))
    assert {cost.layer for cost in table.costs} == set(LAYER_TYPES)
    for sizes in (ns, ds, ks, rs):
        assert any({getattr(cost, name) for cost in table.costs} - {None} == set(sizes) for name in "ndkr")
    assert all(cost.seconds > 0 and cost.peak_bytes > 0 for cost in table.costs)
    assert "PyTorch" in table.hardware


def test_every_picture_and_the_table_behind_it(why: AppTest) -> None:
    healthy(why.run())
    assert len(picture_files(why)) == 1
    assert any("n = 64 < d = 512, self-attention makes 8 times fewer" in text.value for text in why.markdown)
    assert any("same number of multiplications at n = 512" in text.value for text in why.caption)
    for view in ("Multiplications", "Memory", "Sequential steps", "Path length"):
        healthy(why.segmented_control(key="why_view").set_value(view).run())
        assert len(picture_files(why)) == 1
    healthy(why.toggle(key="why_table").set_value(True).run())
    recurrent = why.dataframe[0].value.query("layer == 'Recurrent'")
    assert recurrent["path"].tolist() == recurrent["n"].tolist() == list(path_length.TRACED)


@pytest.mark.usefixtures("quick")
def test_this_machine_is_measured_by_a_click(why: AppTest) -> None:
    healthy(comes_to(why, why_d="32").run())
    why.select_slider(key="why_d").set_value(32).run()
    healthy(why.button(key="measure_layers").click().run())
    here = state_of(why, LayerMeasurementSlot).measurement
    assert here is not None
    while not here.job.finished:
        healthy(why.run())
    assert here.job.total == len(here.costs) > 10
    assert any(here.hardware in text.value for text in why.caption)
    assert why.segmented_control(key="why_source").value == "here"
    assert why.query_params["measured"] == "64.32.3.8"
    healthy(why.select_slider(key="why_d").set_value(1024).run())
    assert any("There are no measurements at these sizes" in text.value for text in why.caption)
    healthy(why.segmented_control(key="why_source").set_value("shipped").run())
    assert not any("There are no measurements" in text.value for text in why.caption)
    assert "measured" not in why.query_params


@pytest.mark.usefixtures("quick")
def test_a_link_to_a_measurement_offers_the_same_again(why: AppTest) -> None:
    """Wherever the sliders stand by now. It starts nothing by itself."""
    healthy(comes_to(why, measured="16.64.5.32").run())
    assert state_of(why, LayerMeasurementSlot).measurement is None
    assert any("a measurement at n = 16, d = 64, k = 5, r = 32" in text.value for text in why.caption)
    healthy(why.button(key="measure_same").click().run())
    here = state_of(why, LayerMeasurementSlot).measurement
    assert here is not None
    assert here.at == Sizes(n=16, d=64, k=5, r=32)
    assert why.query_params["measured"] == "16.64.5.32"
    assert "measure_same" not in [button.key for button in why.button]


@pytest.mark.parametrize("named", ["64.512.3", "64.512.3.9", "64.512.3.8.1", "99999.512.3.8", "<b>"])
def test_an_address_that_names_no_measurement_says_what_it_should(named: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Field, "texts", property(lambda _: [named]))
    with pytest.raises(
        ValueError,
        match=f"^the address has measured={named}, expected n, d, k and r that the sliders offer, such as 64.512.3.8",
    ):
        layer_costs.read_address()
