"""The page Beam without a browser, and any target that is shown."""

import re

import pytest
from streamlit.testing.v1 import AppTest

from tests.viz_app.pages import Start, healthy, opened, reading, show_translation, state_of, translations
from viz_app.session.readings import FORCED_INDEX, Current, ForcedTarget, ForcedText


def test_the_tree_has_a_table_behind_it(app: AppTest) -> None:
    app.query_params["beam_view"] = "table"
    opened(app, "beam")
    table = app.dataframe[0].value
    assert (table.groupby("position").size() <= 4).all()  # twice the beam
    assert set(table["fate"]) <= {"live", "finished", "pruned"}
    assert table["reason"].str.len().min() > 10


def test_a_forced_beginning_is_that_of_the_tree_and_of_what_is_clicked_in_it(app: AppTest) -> None:
    own = reading(opened(app, "beam"))
    first = next(
        token_id
        for token_id in range(300, 400)
        if all(token_id != found.token_ids[0] for found in own.translation.hypotheses)
    )
    state_of(app, Current).forced = ForcedText(own.model.digest, own.translation.source, ForcedTarget((first,)))
    app.run()
    show_translation(app, FORCED_INDEX)
    healthy(app.segmented_control(key="beam_view").set_value("Table").run())
    table = app.dataframe[0].value
    assert table["reason"][0] == "Forced: no other candidate was considered here."
    assert (table["position"] == 1).sum() == 1
    assert any("forced" in caption.value for caption in app.caption)
    assert app.query_params["prefix"] == str(first)
    clicked = reading(app).hypothesis.token_ids[:3]
    state_of(app, Current).forced = ForcedText(
        own.model.digest, own.translation.source, ForcedTarget(reading(app).prefix, clicked)
    )
    healthy(app.run())
    assert reading(app).hypothesis.token_ids == clicked
    assert app.dataframe[0].value.equals(table)  # still the same search
    assert app.query_params["target"] == ".".join(map(str, clicked))
    healthy(app.button(key="search_freely").click().run())
    assert (app.dataframe[0].value["position"] == 1).sum() == 4
    assert "prefix" not in app.query_params


def test_any_target_can_be_shown_until_the_sentence_changes(app: AppTest) -> None:
    own = reading(healthy(app.run()))
    found = own.hypothesis
    state_of(app, Current).forced = ForcedText(
        own.model.digest, own.translation.source, ForcedTarget(target=found.token_ids[:2])
    )
    app.run()
    show_translation(app, FORCED_INDEX)
    part = reading(app).hypothesis
    assert (part.token_ids, part.finished) == (found.token_ids[:2], False)
    assert translations(app)[-1].startswith("Forced: ")
    assert reading(app).explain().predicted_tokens == (*part.tokens, "</s>")
    app.session_state["beam_size"] = 3
    healthy(app.run())
    # another search of the same sentence keeps it
    assert reading(app).hypothesis.token_ids == part.token_ids
    healthy(app.text_input(key="text").set_value("Who?").run())
    assert reading(app).index == 0
    assert len(translations(app)) == 3


@pytest.mark.parametrize("text", ["<b>*_`$x$ :red[a] </script>", "\u0645\u0631\u062d\u0628\u0627"])
def test_every_text_has_a_tree(start: Start, text: str) -> None:
    app = opened(start(beam_size="2", text=text), "beam")
    assert reading(app).translation.source == text
    (count,) = re.findall(r"Of (\d+) candidates", " ".join(each.value for each in app.markdown))
    assert int(count) > 2
    assert not app.error
    healthy(app.text_input(key="text").set_value("").run())
    assert not any(" candidates " in each.value for each in app.markdown)
