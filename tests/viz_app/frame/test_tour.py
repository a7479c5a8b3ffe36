"""The guided tour without a browser."""

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


def click(app: AppTest, key: str) -> AppTest:
    app.button(key=key).click()
    return app.run()


def links(app: AppTest) -> list[str]:
    """The pages that the tour links to."""
    return [link.proto.page for link in app.main.get("page_link") if link.proto.label == "Show me"]


def test_the_tour_is_short_and_about_pages_that_there_are() -> None:
    assert 4 <= len(STEPS) <= 6
    assert {page for page, _ in STEPS} <= {page.name for page in VIEWS}
    assert all(len(text) < 140 for _, text in STEPS)


def test_the_tour_goes_along_and_stays_away_once_dismissed(app: AppTest) -> None:
    assert shown(app.run())
    assert not links(app)  # the first steps are about the page that one is on
    for _ in range(2):
        click(app, "tour_next")
    assert app.markdown[0].value.startswith("3 of 6")
    assert links(app) == ["heads"]
    to_page(app, "heads")
    assert shown(app.run())
    assert not links(app)
    click(app, "tour_back")
    assert app.markdown[0].value.startswith("2 of 6")
    assert not shown(click(app, "tour_skip"))
    to_page(app, "positions")
    assert not shown(app.run())
    assert app.query_params["tour"] == "off"
    assert shown(click(app, "tour_again"))
    assert app.markdown[0].value.startswith("1 of 6")
    assert "tour" not in app.query_params


def test_an_address_can_do_without_the_tour(app: AppTest) -> None:
    app.query_params["tour"] = "off"
    assert not shown(app.run())
