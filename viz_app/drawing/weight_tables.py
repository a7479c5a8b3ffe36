"""Attention weights as the table that is shown."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from core.analysis.tokens.words import readable
from core.capture import AttentionMap

if TYPE_CHECKING:  # importing pandas takes half a second: figures appear before tables
    import pandas as pd


def shown_table(attention: AttentionMap, heads: Sequence[int], hidden: str) -> "pd.DataFrame":
    """Return the table without masked weights, and with those on tokens named as hidden at the end of each row."""
    import pandas as pd

    table = attention.to_frame(heads, readable)
    visible = np.tile(attention.visible.flatten().numpy(), len(heads))
    if attention.hidden is None:
        return table.loc[visible].reset_index(drop=True)
    keys = len(attention.key_tokens)
    ends = table.iloc[keys - 1 :: keys].assign(
        key_position=keys, key=hidden, weight=attention.hidden[list(heads)].flatten().numpy()
    )
    shown = pd.concat([table.loc[visible], ends]).sort_index(
        kind="stable"
    )  # an end has the index of its row's last key
    return shown.reset_index(drop=True)
