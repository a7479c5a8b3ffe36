"""Results with a table."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


class Tabular:
    """A result with a table. Only `to_frame` imports pandas."""

    def table(self, *arguments: Any, **options: Any) -> Mapping[str, Sequence[object]]:
        """The numbers, one row for each; layers, heads and positions are counted from 0."""
        raise NotImplementedError

    def to_frame(self, *arguments: Any, **options: Any) -> "pd.DataFrame":
        """The `table` of these arguments as a frame of pandas.

        Raises:
            ImportError: pandas is not installed.
        """
        import pandas as pd

        return pd.DataFrame(self.table(*arguments, **options))
