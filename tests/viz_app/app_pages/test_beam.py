"""The page Beam without a browser, and any target that is looked at."""

import re

import pytest
from streamlit.testing.v1 import AppTest

from tests.viz_app.pages import healthy
from viz_app.session import readings


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
    reading: readings.Reading = app.session_state[readings.READING]
    first = next(
        token_id
        for token_id in range(300, 400)
        if all(token_id != found.token_ids[0] for found in reading.translation.hypotheses)
    )
    app.session_state[readings.FORCED] = ((reading.model.digest, reading.translation.source), readings.Forced((first,)))
    app.switch_page("app_pages/beam.py").run()
    app.selectbox(key="hypothesis").set_value(readings.FORCED_INDEX)
    app.segmented_control(key="beam_view").set_value("Table")
    healthy(app.run())
    table = app.dataframe[0].value
    assert table["reason"][0] == "Forced: no other candidate was looked at here."
    assert (table["position"] == 1).sum() == 1
    assert any("forced" in caption.value for caption in app.caption)
    assert app.query_params["prefix"] == str(first)
    forced: readings.Reading = app.session_state[readings.READING]
    clicked = forced.hypothesis.token_ids[:3]
    app.session_state[readings.FORCED] = (
        app.session_state[readings.FORCED][0],
        readings.Forced(forced.prefix, clicked),
    )
    healthy(app.run())
    assert app.session_state[readings.READING].hypothesis.token_ids == clicked
    assert app.dataframe[0].value.equals(table)  # still the same search
    assert app.query_params["target"] == ".".join(map(str, clicked))
    app.button(key="search_freely").click()
    healthy(app.run())
    assert (app.dataframe[0].value["position"] == 1).sum() == 4
    assert "prefix" not in app.query_params


def test_any_target_can_be_looked_at_until_the_sentence_changes(app: AppTest) -> None:
    reading: readings.Reading = app.session_state[readings.READING]
    found = reading.hypothesis
    app.session_state[readings.FORCED] = (
        (reading.model.digest, reading.translation.source),
        readings.Forced(target=found.token_ids[:2]),
    )
    app.run()
    app.selectbox(key="hypothesis").set_value(readings.FORCED_INDEX)
    healthy(app.run())
    forced: readings.Reading = app.session_state[readings.READING]
    part = forced.hypothesis
    assert (part.token_ids, part.finished) == (found.token_ids[:2], False)
    assert app.selectbox(key="hypothesis").options[-1].startswith("Forced: ")
    assert forced.explanation.predicted_tokens == (*part.tokens, "</s>")
    app.slider(key="beam_size").set_value(3)
    healthy(app.run())
    # another search of the same sentence keeps it
    assert app.session_state[readings.READING].hypothesis.token_ids == part.token_ids
    app.text_input(key="text").set_value("Who?")
    healthy(app.run())
    assert app.session_state[readings.READING].index == 0
    assert len(app.selectbox(key="hypothesis").options) == 3


@pytest.mark.parametrize("text", ["<b>*_`$x$ :red[a] </script>", "\u0645\u0631\u062d\u0628\u0627"])
def test_every_text_has_a_tree(app: AppTest, text: str) -> None:
    app.switch_page("app_pages/beam.py")
    app.text_input(key="text").set_value(text)
    healthy(app.run())
    assert app.session_state[readings.READING].translation.source == text
    (count,) = re.findall(r"\*\*Beam search\*\*: (\d+) candidates", " ".join(each.value for each in app.markdown))
    assert int(count) > 2
    assert not app.error
    app.text_input(key="text").set_value("")
    assert "as soon as there is a sentence" in healthy(app.run()).caption[-1].value
    assert not any("Beam search" in each.value for each in app.markdown)
