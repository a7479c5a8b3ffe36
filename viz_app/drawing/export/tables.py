"""Tables as CSV files."""

from core.analysis.csv_output import Table, csv_text


def csv_file(table: Table) -> bytes:
    """Return a table as CSV (UTF-8), in which no cell is a formula."""
    return csv_text(table).encode()
