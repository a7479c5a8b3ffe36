"""The pages Beam and Switches without a browser."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from core.analysis.heads import Head
from viz_app import state, switching

MAIN = str(Path(__file__).parents[2] / "viz_app" / "shell.py")


@pytest.fixture
def app(tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AppTest]:
    """The app on a tiny checkpoint and a short sentence, its first page run."""
    monkeypatch.setenv("HEADLIGHT_CHECKPOINT", str(tiny_checkpoint))
    test = AppTest.from_file(MAIN, default_timeout=60)
    test.query_params["beam_size"] = "2"
    test.query_params["text"] = "Where?"
    yield test.run()
    st.cache_resource.clear()


def healthy(app: AppTest) -> AppTest:
    assert not app.exception, app.exception[0].message
    return app


def test_the_tree_has_a_table_behind_it(app: AppTest) -> None:
    app.switch_page("app_pages/beam.py")
    healthy(app.run())
    app.segmented_control(key="beam_view").set_value("Table")
    healthy(app.run())
    table = app.dataframe[0].value
    assert (table.groupby("position").size() <= 4).all()  # twice the beam
    assert set(table["fate"]) <= {"live", "finished", "pruned"}
    assert table["reason"].str.len().min() > 10


def test_a_forced_beginning_is_that_of_the_tree_and_of_what_is_clicked_in_it(app: AppTest) -> None:
    reading: state.Reading = app.session_state[state.READING]
    first = next(token_id for token_id in range(300, 400) if all(token_id != found.token_ids[0] for found in reading.translation.hypotheses))
    app.session_state[state.FORCED] = ((reading.model.digest, reading.translation.source), state.Forced((first,)))
    app.switch_page("app_pages/beam.py").run()
    app.selectbox(key="hypothesis").set_value(state.FORCED_INDEX)
    app.segmented_control(key="beam_view").set_value("Table")
    healthy(app.run())
    table = app.dataframe[0].value
    assert table["reason"][0] == "Forced: no other candidate was looked at here."
    assert (table["position"] == 1).sum() == 1
    assert any("forced" in caption.value for caption in app.caption)
    assert app.query_params["prefix"] == str(first)
    forced: state.Reading = app.session_state[state.READING]
    clicked = forced.hypothesis.token_ids[:3]
    app.session_state[state.FORCED] = (app.session_state[state.FORCED][0], state.Forced(forced.prefix, clicked))
    healthy(app.run())
    assert app.session_state[state.READING].hypothesis.token_ids == clicked
    assert app.dataframe[0].value.equals(table)  # still the same search
    assert app.query_params["target"] == ".".join(map(str, clicked))
    app.button(key="search_freely").click()
    healthy(app.run())
    assert (app.dataframe[0].value["position"] == 1).sum() == 4
    assert "prefix" not in app.query_params


def test_any_target_can_be_looked_at_until_the_sentence_changes(app: AppTest) -> None:
    reading: state.Reading = app.session_state[state.READING]
    found = reading.hypothesis
    app.session_state[state.FORCED] = ((reading.model.digest, reading.translation.source), state.Forced(target=found.token_ids[:2]))
    app.run()
    app.selectbox(key="hypothesis").set_value(state.FORCED_INDEX)
    healthy(app.run())
    forced: state.Reading = app.session_state[state.READING]
    part = forced.hypothesis
    assert (part.token_ids, part.finished) == (found.token_ids[:2], False)
    assert app.selectbox(key="hypothesis").options[-1].startswith("Forced: ")
    assert forced.explanation.predicted_tokens == (*part.tokens, "</s>")
    app.slider(key="beam_size").set_value(3)
    healthy(app.run())
    assert app.session_state[state.READING].hypothesis.token_ids == part.token_ids  # another search of the same sentence keeps it
    app.text_input(key="text").set_value("Who?")
    healthy(app.run())
    assert app.session_state[state.READING].index == 0
    assert len(app.selectbox(key="hypothesis").options) == 3


def test_every_head_is_measured_and_a_switched_one_changes_the_numbers(app: AppTest) -> None:
    app.switch_page("app_pages/switches.py")
    healthy(app.run())
    table = app.dataframe[0].value
    assert len(table) == 24  # 2 + 2 layers, 4 heads, cross-attention too
    assert table["change"].is_monotonic_increasing
    reading: state.Reading = app.session_state[state.READING]
    assert app.button[-1].disabled  # nothing to switch back
    app.session_state[switching.GATES] = (reading.model.digest, {Head("cross", 1, 0): 0.0, Head("encoder_self", 0, 0): 0.5})
    healthy(app.run())
    assert any("a change of" in text.value for text in app.markdown)
    stopped = (reading.model.digest, reading.search, frozenset(app.session_state[switching.GATES][1].items()))
    app.session_state["stopped_gated"] = stopped  # as a click on Stop leaves it while the switched translation is searched
    assert "Stopped." in [caption.value for caption in healthy(app.run()).caption]
    app.button(key="again_gated").click()
    assert "Stopped." not in [caption.value for caption in healthy(app.run()).caption]
    app.button[-1].click()
    healthy(app.run())
    assert not app.session_state[switching.GATES][1]


def test_the_address_holds_the_switches(app: AppTest) -> None:
    app.query_params[switching.SWITCHED] = "cross L2 H1, encoder L1 H3 0.5"
    app.switch_page("app_pages/switches.py")
    healthy(app.run())
    assert app.session_state[switching.GATES][1] == {Head("cross", 1, 0): 0.0, Head("encoder_self", 0, 2): 0.5}
    assert app.query_params[switching.SWITCHED] == "cross L2 H1,encoder L1 H3 0.5"
    next(button for button in app.button if button.label == "All back on").click()
    healthy(app.run())
    assert switching.SWITCHED not in app.query_params


@pytest.mark.parametrize(
    ("named", "said"), [("cross L9 H1", "switches cross L9 H1, which tiny"), ("<b>", "expected heads such as"), ("cross L1 H1 7", "expected")]
)
def test_an_address_that_names_no_head_is_refused(app: AppTest, named: str, said: str) -> None:
    app.query_params[switching.SWITCHED] = named
    app.switch_page("app_pages/switches.py")
    healthy(app.run())
    assert said in app.error[0].value.replace("\\", "")
    assert switching.GATES not in app.session_state


@pytest.mark.parametrize("text", ["", "<b>*_`$x$ :red[a] </script>", "\u0645\u0631\u062d\u0628\u0627"])
@pytest.mark.parametrize("page", ["app_pages/beam.py", "app_pages/switches.py"])
def test_the_pages_take_every_text(app: AppTest, page: str, text: str) -> None:
    app.switch_page(page)
    app.text_input(key="text").set_value(text)
    healthy(app.run())
