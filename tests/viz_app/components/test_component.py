"""Properties common to all components."""

import json
import time

import pytest
from streamlit.testing.v1 import AppTest

from viz_app.components.component import sent_index


def page() -> None:
    import json

    import streamlit as st

    from viz_app.components.component import dated

    for data in ([1, 2], [1, 2], [1, 3], [1, 2]):
        st.text(json.dumps(dated("map", data)))


def test_data_keep_their_date_until_they_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: 5_000)  # a clock that stands still
    first, same, other, again = (json.loads(text.value) for text in AppTest.from_function(page).run().text)
    assert first == same
    assert other[1] == [1, 3]
    assert first[0] < other[0] < again[0]  # in the end the data are new again


def test_an_index_that_the_browser_sends_is_one_of_those_there_are() -> None:
    assert [sent_index(value, 9) for value in (0, 8)] == [0, 8]
    assert {sent_index(value, 9) for value in (9, -1, "1", True, None, {"example": 1})} == {None}
