"""The page "Step by step" without a browser."""

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from core.analysis.heads.head import Head
from core.analysis.joint_map import joint_map
from core.capture import Kind
from tests.changed_modules import change
from tests.viz_app.pages import Start, healthy, opened, reading, state_of
from viz_app.components.sentence_bar import words_by_name
from viz_app.session.readings import Current, SelectedWords
from viz_app.session.step_place import StepPlace
from viz_app.views.heads.grid.joint_view import joint_cell


def values(app: AppTest) -> list[str]:
    return [app.selectbox(key=key).value for key in ("followed", "step_layer", "step_head")]


def test_the_page_follows_a_token_or_the_selected_word_and_checks_the_numbers(app: AppTest) -> None:
    opened(app, "step_through")
    assert app.button_group(key="stack").value == "decoder"
    assert any("numbers equal the model's" in each.value for each in app.markdown)
    healthy(app.button_group(key="stack").set_value("encoder").run())
    assert len(app.selectbox(key="followed").options) == len(reading(app).explain().source_tokens)
    assert any("Step by step" in each.value and "Encoder" in each.value for each in app.markdown)

    words = list(words_by_name(reading(app).explain()).values())
    for word, name in ((words[1], "encoder"), (words[-1], "decoder")):
        state_of(app, Current).words = SelectedWords(reading(app).identity, (word,))
        healthy(app.run())
        assert app.button_group(key="stack").value == name
        assert values(app)[0].startswith(f"{word[1].start + 1} ")


def test_a_model_that_the_formulas_do_not_describe_is_refused(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    st.cache_resource.clear()
    change("softmax", monkeypatch)
    opened(app, "step_through")
    st.cache_resource.clear()
    assert "the analysis computes" in app.error[0].value
    assert not any("numbers equal the model's" in each.value for each in app.markdown)


def test_the_address_holds_token_layer_head_step_and_row(start: Start) -> None:
    address = {"step_layer": "L2", "step_head": "H3", "at": "cross-scores", "picked": "2"}
    app = opened(start(beam_size="2", text="Where?", **address), "step_through")
    assert values(app)[1:] == ["L2", "H3"]
    assert (app.query_params["at"], app.query_params["picked"]) == ("cross-scores", "2")
    assert state_of(app, StepPlace).requested == ("cross-scores", 1)
    state_of(app, StepPlace).keep(("cross-mask", None))
    healthy(app.run())
    assert app.query_params["at"] == "cross-mask"
    assert "picked" not in app.query_params
    assert state_of(app, StepPlace).request == 1, "the browser was there first"


@pytest.mark.parametrize("address", [{"at": "nothing"}, {"picked": "0"}, {"step_layer": "L99"}, {"followed": "<b>"}])
def test_an_address_that_names_nothing_shows_the_first_step(start: Start, address: dict[str, str]) -> None:
    app = opened(start(beam_size="2", text="Where?", **address), "step_through")
    assert "at" not in app.query_params


@pytest.mark.parametrize(("kind", "stack"), [("encoder_self", "encoder"), ("cross", "decoder")])
def test_a_cell_leads_to_its_score(app: AppTest, kind: Kind, stack: str) -> None:
    opened(app, "step_through")
    state_of(app, StepPlace).lead_to_score(Head(kind, 1, 2), 1, 0)
    healthy(app.run())
    assert app.button_group(key="stack").value == stack
    assert values(app)[0].startswith("2 ")
    assert values(app)[1:] == ["L2", "H3"]
    assert (app.query_params["at"], app.query_params["picked"]) == (f"{kind}-scores", "1")


def test_the_cells_of_a_joint_map_are_those_of_three_maps(app: AppTest) -> None:
    healthy(app.run())
    maps = reading(app).explain().maps
    joint = joint_map(maps, 1, 2)
    for row in range(len(joint.rows)):
        for column in range(len(joint.columns)):
            kind, query, key = joint_cell(joint, row, column)
            if kind is None:
                assert joint.weights[row, column].isnan()
            elif maps[kind][1].visible[query, key]:
                assert maps[kind][1].weights[2, query, key] == joint.weights[row, column]
