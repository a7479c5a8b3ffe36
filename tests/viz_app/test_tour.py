"""The guided tour without a browser."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from viz_app.pages import PAGES
from viz_app.tour import STEPS

SHELL = str(Path(__file__).parents[2] / "viz_app" / "shell.py")


@pytest.fixture
def app(tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AppTest]:
    monkeypatch.setenv("HEADLIGHT_CHECKPOINT", str(tiny_checkpoint))
    test = AppTest.from_file(SHELL, default_timeout=60)
    test.query_params["beam_size"], test.query_params["text"] = "1", "Where?"
    yield test
    st.cache_resource.clear()


def shown(app: AppTest) -> bool:
    assert not app.exception, app.exception[0].message
    return any(" of 6" in text.value and "**" in text.value for text in app.markdown)


def click(app: AppTest, key: str) -> AppTest:
    app.button(key=key).click()
    return app.run()


def test_the_tour_is_short_and_about_pages_that_there_are() -> None:
    assert 4 <= len(STEPS) <= 6
    assert {page for page, _ in STEPS} <= {name for name, _ in PAGES}
    assert all(len(text) < 140 for _, text in STEPS)


def test_the_tour_goes_along_and_stays_away_once_dismissed(app: AppTest) -> None:
    assert shown(app.run())
    assert not app.get("page_link")  # the first steps are about the page that one is on
    for _ in range(2):
        click(app, "tour_next")
    assert app.markdown[0].value.startswith("3 of 6")
    assert [link.proto.page for link in app.get("page_link")] == ["heads"]
    app.switch_page("app_pages/heads.py")
    assert shown(app.run())
    assert not app.get("page_link")
    click(app, "tour_back")
    assert app.markdown[0].value.startswith("2 of 6")
    assert not shown(click(app, "tour_skip"))
    app.switch_page("app_pages/positions.py")
    assert not shown(app.run())
    assert app.query_params["tour"] == "off"
    assert shown(click(app, "tour_again"))
    assert app.markdown[0].value.startswith("1 of 6")
    assert "tour" not in app.query_params


def test_an_address_can_do_without_the_tour(app: AppTest) -> None:
    app.query_params["tour"] = "off"
    assert not shown(app.run())
