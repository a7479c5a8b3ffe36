"""The page "Why self-attention" without a browser, and the measurements that come with it."""

import pytest
from streamlit.testing.v1 import AppTest

from core.analysis.layer_cost import grid
from core.analysis.layer_types import LAYER_TYPES
from tests.viz_app.pages import Start, healthy
from viz_app import layer_costs


@pytest.fixture
def why(start: Start) -> AppTest:
    return start(beam_size="1", text="Where?").run().switch_page("app_pages/why.py")


def test_what_is_shipped_was_measured_at_everything_the_sliders_offer() -> None:
    ns, ds, ks, rs = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096), (32, 64, 128, 256, 512, 1024), (3, 5, 9), (8, 32, 128)
    table = layer_costs.shipped()
    assert len(table.costs) == len(grid(ns, ds, ks, rs))
    assert {cost.layer for cost in table.costs} == set(LAYER_TYPES)
    for sizes in (ns, ds, ks, rs):
        assert any({getattr(cost, name) for cost in table.costs} - {None} == set(sizes) for name in "ndkr")
    assert all(cost.seconds > 0 and cost.peak_bytes > 0 for cost in table.costs)
    assert "PyTorch" in table.hardware


def test_every_picture_and_the_table_behind_it(why: AppTest) -> None:
    healthy(why.run())
    assert len(why.get("plotly_chart")) == 1
    assert any("n = 64 < d = 512, self-attention makes 8 times fewer" in text.value for text in why.markdown)
    assert any("meet at n = 512" in text.value for text in why.caption)
    for view in ("Multiplications", "Memory", "Sequential steps", "Path length"):
        why.segmented_control(key="why_view").set_value(view)
        healthy(why.run())
        assert {button.label for button in why.get("download_button")} >= {"SVG", "PDF", "PNG", "CSV"}
    why.toggle(key="why_table").set_value(True)
    healthy(why.run())
    recurrent = why.dataframe[0].value.query("layer == 'Recurrent'")
    assert recurrent["path"].tolist() == recurrent["n"].tolist() == list(layer_costs.TRACED)


def test_this_machine_is_measured_by_a_click(why: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layer_costs, "MOST_OPERATIONS", 2**16)
    monkeypatch.setattr(layer_costs, "SECONDS", 0)
    why.query_params["why_d"] = "32"
    healthy(why.run())
    why.select_slider(key="why_d").set_value(32)
    why.run()
    why.button(key="measure_layers").click()
    healthy(why.run())
    here = why.session_state[layer_costs.MEASURING]
    assert here.done
    assert here.total == len(here.found) > 10
    assert any(here.hardware in text.value for text in why.caption)
    assert why.segmented_control(key="why_source").value == "here"
    why.select_slider(key="why_d").set_value(1024)
    healthy(why.run())
    assert any("Nothing was measured at these sizes" in text.value for text in why.caption)
    why.segmented_control(key="why_source").set_value("shipped")
    healthy(why.run())
    assert not any("Nothing was measured" in text.value for text in why.caption)
