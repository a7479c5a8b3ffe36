"""Cells of tables: texts that a spreadsheet would compute are texts there, too."""

import csv
import io

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.analysis.csv_output import original_text, without_formula, write_csv

TEXTS = st.text("'=+-@\t\r\n ＝－a1,;\"\u00a0", max_size=6)
BEGINNINGS = tuple("=+-@＝＋－＠\t\r\n")


@given(TEXTS)
def test_no_text_begins_like_a_formula(text: str) -> None:
    written = str(without_formula(text))
    assert not written.startswith(BEGINNINGS)
    assert not written.lstrip().startswith(BEGINNINGS)
    assert written in (text, f"'{text}")


@given(TEXTS)
def test_every_text_is_read_back(text: str) -> None:
    assert original_text(without_formula(text)) == text


@pytest.mark.parametrize("text", ["=", "-", "+1", "@SUM(A1)", "\t=1", "\rx", " =1", "-0.5", "＝1"])
def test_such_a_text_gets_an_apostrophe(text: str) -> None:
    assert without_formula(text) == f"'{text}"


@pytest.mark.parametrize("value", [-0.5, -3, None, True, "a-b", "1-2", "'s", "–", "▁-", ""])
def test_numbers_and_other_texts_stay(value: object) -> None:
    assert original_text(value) is value
    assert without_formula(value) is value


def test_columns_and_their_names() -> None:
    output = io.StringIO()
    write_csv({"=cmd": ["=1+1", "dog", None], "score": [-0.5, 1 / 3, -2]}, output)
    assert list(csv.reader(io.StringIO(output.getvalue()))) == [
        ["'=cmd", "score"],
        ["'=1+1", "-0.5"],
        ["dog", "0.333333333"],
        ["", "-2"],
    ]


def test_a_table_of_pandas_is_written_like_its_columns() -> None:
    columns = {"a": [1, 2], "b": [0.5, None], "c": ["x", "=y"]}
    texts = [io.StringIO(), io.StringIO()]
    for table, text in zip((columns, pd.DataFrame(columns)), texts, strict=True):
        write_csv(table, text)
    assert texts[0].getvalue() == texts[1].getvalue() == "a,b,c\n1,0.5,x\n2,,'=y\n"
