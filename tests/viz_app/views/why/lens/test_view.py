"""The page "Layer by layer" without a browser."""

import pytest
from streamlit.testing.v1 import AppTest

from tests.viz_app.pages import Start, comes_to, healthy, opened, reading
from viz_app.session.address import CELL


def test_a_cell_and_the_translations_of_all_levels(app: AppTest) -> None:
    opened(app, "lens")
    top, translations = app.dataframe[0].value, app.dataframe[1].value
    assert len(top) == 10
    assert top["probability"].is_monotonic_decreasing
    assert translations["translation"].iloc[-1] == reading(app).translation.text
    assert len(translations) == 3
    assert any("last layer equals the translation" in each.value for each in app.markdown)
    assert not app.error  # of a failed check
    app.session_state["cell"] = (1, 2)
    healthy(app.run())
    assert app.query_params["cell"] == "2.2"
    assert any("**L2**" in each.value for each in app.markdown)
    healthy(app.slider(key="encoder_level").set_value(0).run())
    assert any(each.value.startswith("Input: ") for each in app.caption)


def test_the_address_holds_level_and_cell_unless_that_does_not_exist(start: Start) -> None:
    app = opened(start(beam_size="2", text="Where?", cell="1.0", encoder_level="1"), "lens")
    assert app.session_state["cell"] == (0, 0)
    assert app.slider(key="encoder_level").value == 1
    healthy(comes_to(app, cell="999.0").run())
    assert app.session_state["cell"] is None
    assert "cell" not in app.query_params


@pytest.mark.parametrize("text", ["", "3", "0.1", "1.-1", "<b>"])
def test_what_names_no_cell_is_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"parts, expected 2|is not a whole number|has a number below"):
        CELL.codec.decode([text])
