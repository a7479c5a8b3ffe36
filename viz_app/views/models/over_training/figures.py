"""Figures, grids and tables of heads, lens and loss over the snapshots of a run."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from core.analysis.lens.logit_lens import level_name
from core.analysis.over_training.roles import Development
from core.analysis.over_training.snapshot_reading import SnapshotReading
from core.analysis.pictures import Cell, Grid
from core.capture import AttentionMap
from core.files.runlog import LogLine
from viz_app.drawing.display_text import decimal
from viz_app.drawing.plotly_chart import bare_axis, empty_figure, with_layout
from viz_app.drawing.scorecard_text import SHORT_NAMES
from viz_app.drawing.theme import SMALL, Theme, head_name
from viz_app.drawing.weight_tables import lines_table
from viz_app.language import localized, marked, tr, tr_lower
from viz_app.views.models.figures import training_curves

if TYPE_CHECKING:
    import pandas as pd

SCORE_NAMES: dict[str, str] = {
    "confidence": marked("Largest weight"),
    "entropy": marked("Spread over tokens"),
    "previous": marked("Weight on the previous position"),
    "same_position": marked("Weight on the same position"),
    "following": marked("Weight on the next position"),
    "same_token": marked("Weight on the same word"),
    "rare_token": marked("Rarest token has most"),
    "sink_share": marked("Weight on end mark, first token and punctuation"),
    "agreement": marked("Linked like other heads"),
}
MIXED = marked("mixed")
PROBABILITY = marked("probability of a token of the last translation, geometric mean")


def step_name(step: int) -> str:
    """Return a step as text: `1,093`."""
    return localized(step, ",")


def score_curves(
    heads: Sequence[Development], steps: Sequence[int], selected: Development, step: int, score: str, theme: Theme
) -> go.Figure:
    """Plot one score of all heads over the snapshots, at equal distances.

    The selected head is a strong line in its colour, with a ring where its score has settled.
    """
    figure = empty_figure(theme, 360, margin=(56, 12, 12, 52))
    places = list(range(len(steps)))
    for each in (*(each for each in heads if each.head != selected.head), selected):
        is_selected, mark = each.head == selected.head, theme.head_mark(each.head.head)
        figure.add_scatter(
            x=places,
            y=each.values,
            mode="lines",
            line={"color": mark.color if is_selected else theme.faint, "width": 3 if is_selected else 0.8},
            hovertemplate=f"{head_name(*each.head[1:])}: %{{y:.3f}}<extra></extra>",
        )
    if selected.settled is not None:
        mark = theme.head_mark(selected.head.head)
        settled = tr("settled by step {step}", step=step_name(steps[selected.settled]))
        figure.add_scatter(
            x=[selected.settled],
            y=[selected.values[selected.settled]],
            mode="markers",
            marker={
                "size": 11,
                "symbol": "circle-open",
                "color": mark.color,
                "line": {"width": 2, "color": mark.color},
            },
            hovertemplate=f"{settled}<extra></extra>",
        )
    if step in steps:
        figure.add_vline(x=steps.index(step), line={"color": theme.faint, "width": 1, "dash": "dot"})
    text = {"size": SMALL, "color": theme.faint}
    ticks: dict[str, Any] = {"tickfont": {**text, "family": theme.monospace_font}}
    names = [step_name(each) for each in steps]
    x_title = {"text": tr("training steps (not to scale)"), "font": text, "standoff": 6}
    y_title = {"text": tr(SCORE_NAMES[score]), "font": text, "standoff": 6}
    return with_layout(
        figure,
        hovermode="closest",
        xaxis=bare_axis(
            range=[-0.4, len(steps) - 0.6], tickvals=places, ticktext=names, tickangle=0, title=x_title, **ticks
        ),
        yaxis=bare_axis(range=[0, 1], title=y_title, **ticks) | {"showgrid": True, "gridcolor": theme.hairline},
    )


def roles_grid(heads: Sequence[Development], steps: Sequence[int], score: str) -> Grid:
    """Return a grid with a row for each head and a column for each snapshot.

    A cell has the head's role, bold from the step at which it is taken, and is coloured by the score.
    """

    def cell(each: Development, number: int) -> Cell:
        value, role = each.values[number], each.roles[number]
        says = tr(
            "{role}; {score} {value}",
            role=tr(role) if role else tr(MIXED),
            score=tr_lower(SCORE_NAMES[score]),
            value=tr("no value") if np.isnan(value) else decimal(value, 3),
        )
        return Cell(
            text=tr(SHORT_NAMES[role]) if role else "",
            says=says,
            shade=0.0 if np.isnan(value) else value,
            is_strong=each.taken is not None and number >= each.taken,
        )

    return Grid(
        title=tr("Roles of heads by step"),
        legend=tr("{score}; bold: the role that stays", score=tr_lower(SCORE_NAMES[score])),
        columns=[step_name(each) for each in steps],
        rows=[(each.head.short, [cell(each, number) for number in range(len(steps))]) for each in heads],
        width=6,
    )


def roles_text(heads: Sequence[Development], steps: Sequence[int]) -> str:
    """Say how many heads have a role in the end, and by which step half and all of them have it."""
    taken = sorted(each.taken for each in heads if each.taken is not None)
    if not taken:
        return tr("None of these {count} heads meets a criterion in the end.", count=len(heads))
    half, last = (step_name(steps[number]) for number in (taken[(len(taken) - 1) // 2], taken[-1]))
    if half == last:
        return tr(
            "{taken} of {count} heads have a role in the end, all of them by step {last}.",
            taken=len(taken),
            count=len(heads),
            last=last,
        )
    return tr(
        "{taken} of {count} heads have a role in the end: half of these by step {half}, all by step {last}.",
        taken=len(taken),
        count=len(heads),
        half=half,
        last=last,
    )


def head_text(each: Development, steps: Sequence[int]) -> str:
    """Say when the score of a head has settled, and since when it has its role."""

    def around(number: int) -> dict[str, str]:
        return {"before": step_name(steps[number - 1]), "step": step_name(steps[number])}

    parts: list[str] = []
    if each.settled == 0:
        parts.append(tr("its score settles from the first snapshot on"))
    elif each.settled is not None:
        parts.append(tr("its score settles after step {before}, by step {step}", **around(each.settled)))
    if each.taken is None:
        parts.append(tr("it has no role in the end"))
        return "; ".join(parts)
    role = tr(each.roles[-1] or MIXED)
    if each.taken == 0:
        parts.append(tr("its role, {role}, is taken from the first snapshot on", role=role))
    else:
        text = tr("its role, {role}, is taken after step {before}, by step {step}", role=role, **around(each.taken))
        parts.append(text)
    return "; ".join(parts)


def lens_grid(readings: Sequence[SnapshotReading]) -> Grid:
    """Return a grid with a row for each level of the decoder, the last on top, and a column for each snapshot."""

    def cell(value: float) -> Cell:
        return Cell(text=decimal(value, 2) if value >= 0.005 else "", says=decimal(value, 4), shade=value)

    levels = range(readings[0].lens.num_layers, -1, -1)
    return Grid(
        title=tr("Probabilities by layer and step"),
        legend=tr(PROBABILITY),
        columns=[step_name(each.step) for each in readings],
        rows=[(level_name(level), [cell(each.level_probabilities[level]) for each in readings]) for level in levels],
        width=6,
    )


def loss(lines: Sequence[LogLine], steps: Sequence[int], step: int, theme: Theme) -> go.Figure:
    """Plot the loss of the run, with a line at each snapshot, the strongest at the current one."""
    figure = training_curves.curves(lines, "nll", theme)
    for each in steps:
        is_current = each == step
        line = {"color": theme.text if is_current else theme.hairline, "width": 1.5 if is_current else 1}
        figure.add_vline(x=each, line=line, layer="below")
    return figure


def lens_table(readings: Sequence[SnapshotReading]) -> "pd.DataFrame":
    """Return a row for each snapshot and level."""
    import pandas as pd

    rows = [(each.step, level, value) for each in readings for level, value in enumerate(each.level_probabilities)]
    return pd.DataFrame(rows, columns=["step", "level", "probability"])


def translations_table(readings: Sequence[SnapshotReading]) -> "pd.DataFrame":
    """Return the translation of each snapshot, with the log-probability that the snapshot gives the last
    translation.
    """
    import pandas as pd

    return pd.DataFrame(
        {
            "step": [each.step for each in readings],
            "translation": [each.translation.text for each in readings],
            "log_prob": [each.log_prob for each in readings],
        }
    )


def maps_table(maps: Mapping[int, AttentionMap], head: int) -> "pd.DataFrame":
    """Return every weight of one head at each step of `maps`."""
    import pandas as pd

    tables: list[pd.DataFrame] = []
    for step, attention in maps.items():
        table = lines_table(attention, [head])
        table.insert(0, "step", step)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)
