"""Properties common to all components."""

import time

import pytest
import streamlit as st

from viz_app.components.component import dated


def test_data_keep_their_date_until_they_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(st, "session_state", {})
    monkeypatch.setattr(time, "time_ns", lambda: 5_000)  # a clock that stands still
    first, same, other = dated("map", [1, 2]), dated("map", [1, 2]), dated("map", [1, 3])
    assert first == same
    assert other[1] == [1, 3]
    assert first[0] < other[0]
    assert other[0] < dated("map", [1, 2])[0]  # they are new again
