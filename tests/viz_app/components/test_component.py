"""What all drawings of our own have in common."""

import time

import pytest
import streamlit as st

from viz_app.components.component import dated


def test_data_keep_their_date_until_they_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(st, "session_state", {})
    monkeypatch.setattr(time, "time_ns", lambda: 5_000)  # a clock that stands still
    first, same, other = dated("map", [1, 2]), dated("map", [1, 2]), dated("map", [1, 3])
    assert first == same
    assert other["drawn"] == [1, 3]
    assert first["since"] < other["since"]
    assert other["since"] < dated("map", [1, 2])["since"]  # they are new again
