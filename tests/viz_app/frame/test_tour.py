"""The guided tour without a browser."""

import re

import pytest
from streamlit.testing.v1 import AppTest

from tests.viz_app.pages import Start, to_page
from viz_app.frame.tour import STEPS
from viz_app.page_list import VIEWS


@pytest.fixture
def app(start: Start) -> AppTest:
    return start(beam_size="1", text="Where?")


def shown(app: AppTest) -> bool:
    assert not app.exception, app.exception[0].message
    return any(" of 6" in text.value and "**" in text.value for text in app.markdown)


def at(app: AppTest) -> str:
    """The number of the step that is shown."""
    return next(text.value.split("\u2002")[0] for text in app.markdown if " of 6" in text.value)


def click(app: AppTest, key: str) -> AppTest:
    return app.button(key=key).click().run()


def dimmed(app: AppTest) -> str:
    """The part of the page that the rest is dimmed for."""
    styles = [found for each in app.get("html") if (found := re.search(r":has\((.*?)\) :is", each.proto.body))]
    return styles[0][1] if styles else ""


def links(app: AppTest) -> list[str]:
    """The pages that the tour links to."""
    return [link.proto.page for link in app.main.get("page_link") if link.proto.label == "Show me"]


def test_the_tour_is_short_and_about_pages_that_there_are() -> None:
    assert 4 <= len(STEPS) <= 6
    assert {step.view for step in STEPS} <= {view.name for view in VIEWS}
    assert all(len(step.text) < 140 for step in STEPS)
    assert [step.focus for step in STEPS[:-1]] == [""] * (len(STEPS) - 1)
    assert STEPS[-1].focus == ".st-key-text input"  # it ends on the visitor's own sentence


def test_the_tour_goes_along_and_stays_away_once_left(app: AppTest) -> None:
    to_page(app, "overview")
    assert shown(app.run())
    assert not links(app)  # the first step is about the page that one is on
    assert dimmed(app) == ""  # nobody has asked for the tour yet
    click(app, "tour_next")
    assert at(app) == "2 of 6"
    assert links(app) == ["heads"]  # which the browser follows
    assert dimmed(app) == ""
    to_page(app, "heads")
    assert shown(app.run())
    assert not links(app)
    assert dimmed(app) == STEPS[1].part
    click(app, "tour_back")
    assert at(app) == "1 of 6"
    assert not shown(click(app, "tour_skip"))
    to_page(app, "positions")
    assert not shown(app.run())
    assert app.query_params["tour"] == "off"
    assert shown(click(app, "tour_again"))
    assert at(app) == "1 of 6"
    to_page(app, "overview")
    app.run()
    assert dimmed(app) == STEPS[0].part
    assert "tour" not in app.query_params


def test_the_step_about_switches_shows_their_effect_as_clearly_as_the_switches(app: AppTest) -> None:
    to_page(app, "switches")
    app.run()
    for _ in range(4):
        click(app, "tour_next")
    assert at(app) == "5 of 6"
    assert all(part in dimmed(app) for part in (".st-key-switchboard", ".st-key-switch-outcome"))


def test_the_tour_ends_with_a_sentence_of_the_visitor(app: AppTest) -> None:
    app.run()
    for _ in range(len(STEPS) - 1):
        click(app, "tour_next")
    assert at(app) == "6 of 6"
    assert shown(app.run())
    app.text_input(key="text").set_value("When?")
    assert not shown(app.run())


def test_an_address_can_do_without_the_tour(app: AppTest) -> None:
    app.query_params["tour"] = "off"
    assert not shown(app.run())
