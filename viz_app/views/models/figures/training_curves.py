"""Curves of a training run, and learning rates."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.files.runlog import LogLine, of_kind
from core.model.schedule import cooldown_factor, learning_rate
from viz_app.drawing.plotly_chart import bare_axis, empty_figure, with_layout
from viz_app.drawing.theme import SMALL, Theme
from viz_app.language import marked, tr

# Names of a run's numbers, with their units.
MEASURES = {
    "nll": marked("Negative log-likelihood per token, nats"),
    "perplexity": marked("Perplexity per token"),
    "tokens_per_second": marked("Target tokens per second"),
    "rate": marked("Learning rate"),
}
POINTS = 400  # of a drawn schedule
LEGEND: dict[str, Any] = {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "font": {"size": SMALL}}


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """Parameters of the learning rate, see `core.model.schedule`."""

    d_model: int = 512
    warmup: int = 4_000
    rate_scale: float = 1.0
    cooldown: int = 0

    def rates(self, steps: Sequence[int], last_step: int) -> list[float]:
        """Return the rates at some steps of a run of `last_step` steps."""
        return [
            self.rate_scale
            * learning_rate(step, self.d_model, self.warmup)
            * cooldown_factor(step, last_step, self.cooldown)
            for step in steps
        ]


PAPER = Schedule()


def values(lines: Sequence[LogLine], kind: str, measure: str) -> tuple[list[int], list[float]]:
    """Return the steps that have a measure, and its values.

    Perplexity is the exponential of nll where it is not logged.
    """
    steps: list[int] = []
    numbers: list[float] = []
    for line in of_kind(lines, kind):
        number = line.get(measure)
        if number is None and measure == "perplexity" and "nll" in line:
            number = math.exp(min(line["nll"], 700.0))
        if number is not None:
            steps.append(line["step"])
            numbers.append(number)
    return steps, numbers


def curves(lines: Sequence[LogLine], measure: str, theme: Theme) -> go.Figure:
    """Plot one measure over the steps: training as a thin line, validation as a line with markers.

    Raises:
        KeyError: There is no such measure.
    """
    figure, has_logarithm = empty_figure(theme, 400, margin=(64, 40, 8, 44)), False
    for kind, called, mark in (
        ("train", tr("training"), theme.head_mark(5)),
        ("valid", tr("validation"), theme.head_mark(0)),
    ):
        steps, numbers = values(lines, kind, measure)
        if steps:
            with np.errstate(over="ignore"):  # too large values become gaps, like those that are not finite
                single = np.array(numbers).astype(np.float32)
            has_logarithm |= bool(((single > 0) & np.isfinite(single)).any())
            figure.add_scatter(
                x=np.array(steps, dtype=np.int32),
                y=single,
                mode="lines+markers" if kind == "valid" else "lines",
                line={"color": mark.color, "width": 2 if kind == "valid" else 1.2},
                marker={"size": 5, "symbol": "circle"},
                name=called,
                hovertemplate=f"{_step_hover()}<br>{called} %{{y:.4g}}<extra></extra>",
            )
    scale = {"rangemode": "normal" if measure == "nll" else "tozero"}
    if measure == "perplexity" and has_logarithm:
        scale = {"type": "log"}
    return with_layout(
        figure,
        showlegend=True,
        legend=LEGEND,
        hovermode="x",
        xaxis=_axis(theme, tr("step"), rangemode="tozero"),
        yaxis=_axis(theme, tr(MEASURES[measure]), grid=True, **scale),
    )


def schedule(mine: Schedule, last_step: int, theme: Theme, logged: Sequence[LogLine] = ()) -> go.Figure:
    """Plot a schedule, the paper's base schedule (dashed), and logged rates (dots)."""
    figure = empty_figure(theme, 380, margin=(64, 40, 8, 44))
    steps = schedule_steps(mine, last_step)
    ours, paper, dots = theme.head_mark(0), theme.head_mark(1), theme.head_mark(2)
    for name, knobs, mark, dash in (
        (tr("the paper's base model"), PAPER, paper, "dash"),
        (tr("these settings"), mine, ours, "solid"),
    ):
        figure.add_scatter(
            x=np.array(steps, dtype=np.int32),
            y=np.array(knobs.rates(steps, last_step)),
            mode="lines",
            line={"color": mark.color, "width": 2, "dash": dash},
            name=name,
            hovertemplate=f"{_step_hover()}<br>{name} %{{y:.3g}}<extra></extra>",
        )
    places, rates = values(logged, "train", "rate")
    if places:
        figure.add_scatter(
            x=np.array(places, dtype=np.int32),
            y=np.array(rates),
            mode="markers",
            marker={"color": dots.color, "size": 4, "symbol": "x"},
            name=tr("as logged"),
            hovertemplate=f"{_step_hover()}<br>{tr('logged {rate}', rate='%{y:.3g}')}<extra></extra>",
        )
    return with_layout(
        figure,
        showlegend=True,
        legend=LEGEND,
        hovermode="closest",
        xaxis=_axis(theme, tr("step"), range=[0, last_step]),
        yaxis=_axis(theme, tr("learning rate"), grid=True, rangemode="tozero", exponentformat="e"),
    )


def schedule_steps(mine: Schedule, last_step: int) -> list[int]:
    """Return the steps at which a schedule is drawn: evenly spaced ones, and its corners."""
    even = np.linspace(1, last_step, min(POINTS, last_step)).round().astype(int).tolist()
    corners = [step for step in (mine.warmup, PAPER.warmup, last_step - mine.cooldown) if 1 <= step <= last_step]
    return sorted({*even, *corners})


def schedule_table(mine: Schedule, last_step: int) -> pd.DataFrame:
    """Return the values of `schedule`."""
    steps = schedule_steps(mine, last_step)
    return pd.DataFrame(
        {"step": steps, "rate": mine.rates(steps, last_step), "paper_rate": PAPER.rates(steps, last_step)}
    )


def curves_table(lines: Sequence[LogLine]) -> pd.DataFrame:
    """Return the values of all curves, a row for each line of the log."""
    rows = [line for line in lines if line["kind"] != "sample"]
    return pd.DataFrame(
        rows, columns=["step", "kind", *sorted({name for line in rows for name in line} - {"step", "kind"})]
    )


def _step_hover() -> str:
    """Return the line of hover texts that names a point's step."""
    return tr("step {step}", step="%{x:,}")


def _axis(theme: Theme, title: str, *, grid: bool = False, **settings: object) -> dict[str, object]:
    faint = {"size": SMALL, "color": theme.faint}
    lines = {"showgrid": True, "gridcolor": theme.hairline} if grid else {}
    return bare_axis(
        title={"text": title, "font": faint, "standoff": 6},
        tickfont={**faint, "family": theme.monospace_font},
        **lines,
        **settings,
    )
