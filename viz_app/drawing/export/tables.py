"""Tables as CSV files."""

from typing import TYPE_CHECKING

from core.analysis.csv_output import without_formula

if TYPE_CHECKING:
    import pandas as pd


def csv_file(table: "pd.DataFrame") -> bytes:
    """Return a table as CSV (UTF-8), in which no cell is a formula."""
    return without_formulas(table).to_csv(index=False).encode()


def without_formulas(table: "pd.DataFrame") -> "pd.DataFrame":
    """Apply `without_formula` to the cells and the names of columns of a table."""
    return table.map(without_formula).rename(columns=without_formula)
