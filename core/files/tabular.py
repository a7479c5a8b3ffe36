"""Results with a table."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from core.files.extras import needs

if TYPE_CHECKING:
    import pandas as pd


def as_columns(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> dict[str, list[Any]]:
    """A table by its columns, from its rows."""
    listed = list(rows)
    return {name: [row[number] for row in listed] for number, name in enumerate(names)}


def stacked(tables: Sequence[Mapping[str, Sequence[Any]]]) -> dict[str, list[Any]]:
    """Tables one below another; where one lacks a column, it is None."""
    rows = [(each, len(next(iter(each.values())))) for each in tables]
    names = dict.fromkeys(name for each in tables for name in each)
    return {name: [value for each, count in rows for value in each.get(name, [None] * count)] for name in names}


class Tabular:
    """A result with a table. Only `to_frame` imports pandas."""

    def table(self, *arguments: Any, **options: Any) -> Mapping[str, Sequence[object]]:
        """The numbers, one row for each; layers, heads and positions are counted from 0."""
        raise NotImplementedError

    def to_frame(self, *arguments: Any, **options: Any) -> "pd.DataFrame":
        """The `table` of these arguments as a frame of pandas.

        Raises:
            MissingPackageError: pandas is not installed.
        """
        with needs("app", "to_frame()"):
            import pandas as pd

        return pd.DataFrame(self.table(*arguments, **options))
