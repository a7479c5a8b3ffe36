"""Tables as CSV, in which no cell is a formula.

A spreadsheet computes a cell that begins with `=`, `+`, `-` or `@`, and such a formula can read other cells, load an
address or start a program. Tokens and sentences may begin so. As OWASP advises ("CSV Injection"), an apostrophe is put
before them.
"""

import csv
import re
import sys
from collections.abc import Mapping, Sequence
from typing import TextIO

# The wide forms are for spreadsheets of Chinese, Japanese and Korean; white space in front may be skipped. A text that
# has apostrophes already gets one more, so that taking one away gives every text back.
FORMULA = re.compile(r"'*(?:[\t\r\n]|\s*[=+\-@＝＋－＠])")


def without_formula(value: object) -> object:
    """Return a cell's value, a formula with an apostrophe before it.

    Numbers stay numbers.
    """
    return f"'{value}" if isinstance(value, str) and FORMULA.match(value) else value


def original_text(value: object) -> object:
    """Return the value whose cell `without_formula` has made."""
    return value[1:] if isinstance(value, str) and FORMULA.match(value) and value.startswith("'") else value


def write_csv(columns: Mapping[str, Sequence[object]], output: TextIO | None = None) -> None:
    """Write columns of equal length with their names.

    Floats have nine significant digits; None is an empty cell. See `without_formula` for texts.
    """
    writer = csv.writer(output or sys.stdout, lineterminator="\n")
    writer.writerow(map(without_formula, columns))
    writer.writerows(
        [f"{value:.9g}" if isinstance(value, float) else without_formula(value) for value in row]
        for row in zip(*columns.values(), strict=True)
    )
