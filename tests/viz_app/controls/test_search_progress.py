"""The progress of a search whose result is cached."""

from collections.abc import Iterator

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from viz_app.controls import search_progress


@pytest.fixture(autouse=True)
def nothing_found() -> Iterator[None]:
    yield
    st.cache_resource.clear()


def page() -> None:
    from collections.abc import Callable

    import streamlit as st

    from viz_app.controls.search_progress import stoppable

    @st.cache_resource(show_spinner=False)
    def search(_progress: Callable[[int, int], None]) -> str:
        for position in (1, 2):
            _progress(position, 2)
        return "found"

    progress = stoppable(st.empty(), "a search", "test")
    if progress is not None:
        st.text(search(progress))


def test_what_a_cached_search_draws_is_not_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the context of a cached function, Streamlit warns of the button and repeats the progress bar."""
    monkeypatch.setattr(search_progress, "PROGRESS_DELAY", 0.0)
    app = AppTest.from_function(page).run()
    assert not app.exception
    assert [button.label for button in app.button] == ["Stop"]
    app.run()
    assert not app.exception
    assert not app.button
    assert app.text[0].value == "found"


def test_a_stopped_search_waits_until_it_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_progress, "PROGRESS_DELAY", 0.0)
    app = AppTest.from_function(page).run()
    app.button(key="stop_test").click().run()
    assert [button.label for button in app.button] == ["Start again"]
    assert not app.text
    app.button(key="again_test").click().run()
    assert app.text[0].value == "found"
