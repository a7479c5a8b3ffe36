"""The page Switches without a browser."""

import pytest
from streamlit.testing.v1 import AppTest

from core.analysis.heads.head import Head
from tests.viz_app.pages import Start, comes_to, healthy, opened, reading, state_of
from viz_app.controls import search_progress
from viz_app.controls.search_progress import StoppedSearches
from viz_app.drawing import ablation
from viz_app.session.switches import Switches


def test_every_head_is_measured_and_a_switched_one_changes_the_numbers(
    app: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(app, "switches")
    table = app.dataframe[0].value
    assert len(table) == 24  # 2 + 2 layers, 4 heads, cross-attention too
    assert table["change"].is_monotonic_increasing
    model, switches = reading(app).model, state_of(app, Switches)
    assert next(button for button in app.button if button.label == "All back on").disabled
    switches.switch(model, [Head("cross", 1, 0)], 0.0)
    switches.switch(model, [Head("encoder_self", 0, 0)], 0.5)
    monkeypatch.setattr(search_progress, "PROGRESS_DELAY", 0.0)  # as if the search took long, and found other words
    monkeypatch.setattr(ablation, "difference", lambda *texts: tuple([True] * len(words) for words in texts))
    healthy(app.run())
    assert any(" drawn by lot, " in text.value for text in app.markdown)
    assert "stop_gated" not in [button.key for button in app.button]  # it is done: there is nothing left to stop
    # as a click on Stop leaves it while the switched translation is searched
    search = (model.digest, reading(app).search, tuple(sorted(switches.of(model).items())))
    state_of(app, StoppedSearches).searches["gated"] = search
    assert "Stopped." in [caption.value for caption in healthy(app.run()).caption]
    app.button(key="again_gated").click()
    assert "Stopped." not in [caption.value for caption in healthy(app.run()).caption]
    next(button for button in app.button if button.label == "All back on").click()
    healthy(app.run())
    assert not switches.of(model)


def test_the_address_holds_the_switches(app: AppTest) -> None:
    opened(comes_to(app, switched="cross L2 H1, encoder L1 H3 0.5"), "switches")
    assert state_of(app, Switches).gates == {Head("cross", 1, 0): 0.0, Head("encoder_self", 0, 2): 0.5}
    assert app.query_params["switched"] == "cross L2 H1,encoder L1 H3 0.5"
    next(button for button in app.button if button.label == "All back on").click()
    healthy(app.run())
    assert "switched" not in app.query_params


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("cross L9 H1", "switches cross L9 H1, which tiny"),
        ("<b>", "expected heads such as"),
        ("cross L1 H1 7", "expected"),
    ],
)
def test_an_address_that_names_no_head_is_refused(app: AppTest, named: str, said: str) -> None:
    opened(comes_to(app, switched=named), "switches")
    assert said in app.error[0].value.replace("\\", "")
    assert not state_of(app, Switches).gates


@pytest.mark.parametrize("text", ["<b>*_`$x$ :red[a] </script>", "\u0645\u0631\u062d\u0628\u0627"])
def test_every_text_has_its_heads_measured(start: Start, text: str) -> None:
    app = opened(start(beam_size="1", text=text), "switches")
    assert reading(app).translation.source == text
    assert len(app.dataframe[0].value) == 24
    assert not app.error
    healthy(app.text_input(key="text").set_value("").run())
    assert not app.dataframe
