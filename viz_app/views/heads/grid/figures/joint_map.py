"""The joint view as a table and as a file: one block matrix with named axes."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch

from core.analysis.joint_map import JointMap
from core.analysis.tokens.words import is_special, readable
from viz_app.drawing.export.canvas import (
    LABEL_POINTS,
    PITCH,
    SMALL_POINTS,
    Format,
    cells,
    check_format,
    color_scale,
    inches,
    paper,
    saved,
    short,
)
from viz_app.drawing.export.selection import NOTHING, SHARE, Selected, dim, share_texts
from viz_app.drawing.theme import LIGHT, Theme
from viz_app.language import marked, tr

HIDDEN = marked("hidden, source"), marked("hidden, target")  # tokens of each part that are not shown, as one key


def joint_table(joint: JointMap, translate: Callable[[str], str] = str) -> pd.DataFrame:
    """Return every weight, a row each; positions are counted from 0.

    Columns: block, row, query, (in the decoder) predicted, column, key, weight. Weights on hidden tokens have the keys
    `HIDDEN`, right of all columns as in the picture.

    Args:
        translate: these keys, into the visitor's language.
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


def export_joint(
    joint: JointMap, name: str, file_format: Format, theme: Theme = LIGHT, *, selected: Selected = NOTHING
) -> bytes:
    """Return the matrix as a file.

    Args:
        name: Of the layer and the head, for the scale.
        selected: Rows and columns; the rest is dimmed.

    Raises:
        ValueError: The format is not one of `FORMATS`.
    """
    check_format(file_format)
    written = [short(token) for token in _row_labels(joint)]
    columns = [short(token) for token in joint.columns]
    shares = [] if joint.hidden is None else [share_texts(part.tolist()) for part in joint.hidden.T]
    width = PITCH * len(columns) + inches(written) + 0.75 + SHARE * len(shares)
    figure, axes = paper(width, PITCH * len(written) + inches(columns) + 1.3, theme)
    weights = joint.weights.numpy()
    cells(axes, weights, theme.sequential, 0.0, 1.0, np.isnan(weights), theme)
    dim(axes, selected, (len(written), len(columns)), theme)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    _write(axes.set_xticks(range(len(columns)), columns, rotation=90), joint.columns, theme)
    _write(axes.set_yticks(range(len(written)), written), _row_labels(joint), theme)
    axes.axhline(joint.source_rows - 0.5, color=theme.faint, linewidth=1)
    axes.axvline(joint.source_columns - 0.5, color=theme.faint, linewidth=1)
    for part, (title, texts) in enumerate(zip(HIDDEN, shares, strict=False)):
        x = len(columns) - 0.3 + part * SHARE / PITCH
        style: dict[str, Any] = {"color": theme.faint, "fontsize": SMALL_POINTS, "parse_math": False}
        axes.text(x, -0.7, tr(title), rotation=90, va="bottom", **style)
        for row, text in enumerate(texts):
            axes.text(x, row, text, va="center", **style)
    for spine in axes.spines.values():
        spine.set_color(theme.hairline)
    axes.set_ylabel(f"{tr('target queries')}          {tr('source queries')}", color=theme.faint, fontsize=LABEL_POINTS)
    axes.xaxis.set_label_position("top")
    axes.set_xlabel(f"{tr('source keys')}          {tr('target keys')}", color=theme.faint, fontsize=LABEL_POINTS)
    color_scale(figure, axes, theme.sequential, 0.0, 1.0, tr("{head}, weight", head=name), theme)
    return saved(figure, file_format)


def _write(ticks: Sequence[Any], tokens: Sequence[str], theme: Theme) -> None:
    """Style tick labels: no formulas, special tokens faint."""
    for tick, token in zip(ticks, tokens, strict=True):
        for text in (tick.label1, tick.label2):
            text.set_parse_math(False)
            text.set(color=theme.faint if is_special(token) else theme.text, fontsize=LABEL_POINTS)


def _row_labels(joint: JointMap) -> tuple[str, ...]:
    """Return the labels of the rows: in the decoder the predicted tokens."""
    return (*joint.rows[: joint.source_rows], *joint.predicted)


def _block(joint: JointMap, row: int, column: int) -> str:
    if row < joint.source_rows:
        return "encoder_self"
    is_source = column < joint.source_columns or column == len(joint.columns)  # the latter is the first of `HIDDEN`
    return "cross" if is_source else "decoder_self"
