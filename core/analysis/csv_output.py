"""Tables of analyses as CSV on standard output."""

import csv
import sys
from collections.abc import Mapping, Sequence
from typing import TextIO


def write_csv(columns: Mapping[str, Sequence[object]], output: TextIO | None = None) -> None:
    """Write columns of equal length with their names.

    Floats have nine significant digits; None is an empty cell.
    """
    writer = csv.writer(output or sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(
        [f"{value:.9g}" if isinstance(value, float) else value for value in row]
        for row in zip(*columns.values(), strict=True)
    )
