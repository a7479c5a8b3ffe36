"""Progress of a job on a page."""

from typing import Any

import pytest
from streamlit.runtime.fragment import MemoryFragmentStorage
from streamlit.testing.v1 import AppTest


def page() -> None:
    import streamlit as st

    from viz_app.controls.job_control import job_control
    from viz_app.session.jobs import Job

    if "job" not in st.session_state:
        st.session_state.job = Job(iter([1, 1]), 2, "parts", running=False)
    job_control(st.session_state.job, "parts", below=lambda: st.slider("Place", 0, 9, key="place"))


def test_what_is_below_a_job_stays_in_its_place_at_the_end() -> None:
    app = AppTest.from_function(page).run()

    def place(block: Any) -> list[int]:
        """The way to the slider through the blocks of the page."""
        for index, child in block.children.items():
            if child.type == "slider":
                return [index]
            if found := place(child) if hasattr(child, "children") else []:
                return [index, *found]
        return []

    before = place(app.main)
    assert before
    app.session_state.job.advance(60.0)
    assert app.session_state.job.finished
    app.run()
    assert place(app.main) == before


def test_the_fragment_of_what_is_below_a_job_stays_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streamlit ignores requests of fragments that are gone: a slider moved just before the end would be forgotten."""
    registered: list[str] = []
    register = MemoryFragmentStorage.register

    def noted(storage: MemoryFragmentStorage, key: str, *arguments: Any, **options: Any) -> None:
        registered.append(key)
        register(storage, key, *arguments, **options)

    monkeypatch.setattr(MemoryFragmentStorage, "register", noted)
    app = AppTest.from_function(page).run()
    progress, result = registered
    assert progress != result
    app.session_state.job.advance(60.0)
    app.run()
    assert registered == [progress, result, result]
    assert not app.exception
