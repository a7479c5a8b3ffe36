"""The joint view as a table."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import torch

from core.analysis.joint_map import JointMap
from core.analysis.tokens.words import readable
from viz_app.language import marked

HIDDEN = marked("hidden, source"), marked("hidden, target")  # tokens of each part that are not shown, as one key


def joint_table(joint: JointMap, translate: Callable[[str], str] = str) -> pd.DataFrame:
    """Return every weight, a row each; positions are counted from 0.

    Columns: block, row, query, (in the decoder) predicted, column, key, weight. Weights on hidden tokens have the keys
    `HIDDEN`, translated, right of all columns as in the picture.
    """
    shares = [] if joint.hidden is None else [joint.hidden]
    weights = torch.cat([joint.weights, *shares], 1).numpy()
    keys = [*map(readable, joint.columns), *map(translate, HIDDEN)]
    rows, columns = np.nonzero(~np.isnan(weights))
    return pd.DataFrame(
        {
            "block": [_block(joint, row, column) for row, column in zip(rows.tolist(), columns.tolist(), strict=True)],
            "row": rows,
            "query": [readable(joint.rows[row]) for row in rows],
            "predicted": [
                readable(joint.predicted[row - joint.source_rows]) if row >= joint.source_rows else None for row in rows
            ],
            "column": columns,
            "key": [keys[column] for column in columns],
            "weight": weights[rows, columns],
        }
    )


def _block(joint: JointMap, row: int, column: int) -> str:
    if row < joint.source_rows:
        return "encoder_self"
    is_source = column < joint.source_columns or column == len(joint.columns)  # the latter is the first of `HIDDEN`
    return "cross" if is_source else "decoder_self"
