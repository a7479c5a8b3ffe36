"""CSV files of tables: no cell is a formula."""

import io

import pandas as pd

from viz_app.drawing.export.tables import csv_file


def test_texts_and_names_of_columns_get_an_apostrophe() -> None:
    table = pd.DataFrame({"token": ["=1+1", "-", "dog"], "weight": [-0.5, 0.25, 1.0], "+": ["@a", None, "b"]})
    found = pd.read_csv(io.BytesIO(csv_file(table)))
    expected = pd.DataFrame({"token": ["'=1+1", "'-", "dog"], "weight": [-0.5, 0.25, 1.0], "'+": ["'@a", None, "b"]})
    pd.testing.assert_frame_equal(found, expected)


def test_columns_of_one_name_and_of_numbers() -> None:
    table = pd.DataFrame([["=", -1]], columns=pd.Index(["=", "="]))
    assert csv_file(table).decode() == "'=,'=\n'=,-1\n"
    assert csv_file(pd.DataFrame({-1: [2]})).decode() == "-1\n2\n"
