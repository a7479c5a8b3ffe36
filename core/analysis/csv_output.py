"""Tables as CSV, in which no cell is a formula.

A spreadsheet computes a cell that begins with `=`, `+`, `-` or `@`, and such a formula can read other cells, load an
address or start a program. Tokens and sentences may begin like that. As OWASP advises ("CSV Injection"), an apostrophe
is put before them.
"""

import csv
import io
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol, TextIO

# The wide forms are for spreadsheets of Chinese, Japanese and Korean; white space in front may be skipped. A text that
# has apostrophes already gets one more, so that taking one away gives every text back.
FORMULA = re.compile(r"'*(?:[\t\r\n]|\s*[=+\-@＝＋－＠])")


class Table(Protocol):
    """Columns by name: a mapping, or a table of pandas."""

    def items(self) -> Iterable[tuple[Any, Any]]: ...


def without_formula(value: object) -> object:
    """Return a cell's value, with an apostrophe before a formula; numbers stay numbers."""
    return f"'{value}" if isinstance(value, str) and FORMULA.match(value) else value


def original_text(value: object) -> object:
    """Return the value from which `without_formula` made a cell."""
    return value[1:] if isinstance(value, str) and FORMULA.match(value) and value.startswith("'") else value


def write_csv(columns: Table, output: TextIO | None = None) -> None:
    """Write columns of equal length with their names.

    Floats have nine significant digits; None and NaN are empty cells. See `without_formula` for texts.

    Args:
        columns: by name; a pandas table is one, too.
    """
    writer = csv.writer(output or sys.stdout, lineterminator="\n")
    names, values = zip(*columns.items(), strict=True)  # pandas allows two columns of one name
    writer.writerow(map(without_formula, names))
    writer.writerows(map(_cell, row) for row in zip(*values, strict=True))


def _cell(value: object) -> object:
    if (
        str(value == value) != "True"
    ):  # NaN does not equal itself, nor does what pandas has in place of a missing number
        return None
    return f"{value:.9g}" if isinstance(value, float) else without_formula(value)


def save_csv(columns: Table, path: str | Path) -> None:
    """Write columns to a file as UTF-8, see `write_csv`."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        write_csv(columns, file)


def csv_text(columns: Table) -> str:
    """Return columns as CSV, see `write_csv`."""
    text = io.StringIO()
    write_csv(columns, text)
    return text.getvalue()
