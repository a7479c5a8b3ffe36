"""Tables as all pages show them."""

from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

import viz_app
from viz_app.controls.tables import HEAD, ROW, show_table


def test_every_table_of_the_app_has_the_dash_for_nothing() -> None:
    files = Path(viz_app.__file__).parent.rglob("*.py")
    assert [path.name for path in files if "st.dataframe(" in path.read_text(encoding="utf-8")] == ["tables.py"]


def test_numbers_are_rounded_not_cut_off() -> None:
    def page() -> None:
        import streamlit as st

        from viz_app.controls.tables import decimals, show_table

        columns = {"p": st.column_config.NumberColumn("p", **decimals(3)), "word": None}
        show_table({"p": [0.9999, -0.0006, 0.29], "word": ["a", "b", "c"], "q": [0.12345] * 3}, column_config=columns)

    table = AppTest.from_function(page).run().dataframe[0].value
    assert table["p"].tolist() == [1.0, -0.001, 0.29]
    assert table["q"].tolist() == [0.12345] * 3


def test_a_table_is_no_higher_than_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    heights: list[int] = []
    monkeypatch.setattr(st, "dataframe", lambda *_, height, **__: heights.append(height))
    for count in (2, 100):
        show_table({"a": [1] * count}, height=560)
    assert heights == [HEAD + 2 * ROW, 560]
