"""Panels of figures in the style of the paper's appendix, and the table behind them."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from core.capture import AttentionMap
from viz_app.drawing.weight_tables import lines_table


@dataclass(frozen=True)
class LinePanel:
    """One panel of a figure: some heads of one layer on one sentence.

    Attributes:
        heads: Counted from 0.
        queries: Words whose lines are drawn; empty: all words.
    """

    attention: AttentionMap
    heads: tuple[int, ...]
    queries: tuple[int, ...] = ()


def appendix_table(panels: Sequence[LinePanel]) -> pd.DataFrame:
    """Return the weights behind the lines, a row each; panels, positions, layers and heads are counted from 0."""
    tables: list[pd.DataFrame] = []
    for number, panel in enumerate(panels):
        table = lines_table(panel.attention, panel.heads)
        table.insert(0, "panel", number)
        tables.append(table.query("query_position in @panel.queries") if panel.queries else table)
    return pd.concat(tables, ignore_index=True)
