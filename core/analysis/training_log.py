"""Curves of a training run, and learning rates (5.3)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from core.analysis.declaration import Columns
from core.analysis.pictures import Curve, Curves
from core.files.runlog import LogLine, of_kind
from core.model.schedule import ScheduleName, cooldown_factor, fitted_scale, fitted_warmup, learning_rate
from core.text.phrases import Number, Phrase, marked

# Names of a run's numbers, with their units.
MEASURES = {
    "nll": marked("Negative log-likelihood per token, nats"),
    "perplexity": marked("Perplexity per token"),
    "tokens_per_second": marked("Target tokens per second"),
    "rate": marked("Learning rate"),
}
MOST_NLL = 88.0  # whose perplexity is drawn
POINTS = 400  # of a drawn schedule
TAIL = 0.1  # share of the steps over which `run_answer` judges a run
LEVEL = 0.01  # relative change of the loss below which it is level; a rule of thumb


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """Parameters of the learning rate, see `core.model.schedule`."""

    d_model: int = 512
    warmup: int = 4_000
    rate_scale: float = 1.0
    cooldown: int = 0
    schedule: ScheduleName = "inverse_sqrt"

    def rates(self, steps: Sequence[int], last_step: int) -> list[float]:
        """The rates at some steps of a run of `last_step` steps."""
        return [
            self.rate_scale
            * learning_rate(step, self.d_model, self.warmup, self.schedule)
            * cooldown_factor(step, last_step, self.cooldown)
            for step in steps
        ]


PAPER = Schedule()


def run_schedule(recipe: Mapping[str, Any], d_model: int, lines: Sequence[LogLine]) -> tuple[Schedule, int]:
    """The schedule of a run and the step that it ends with; with a limit of minutes both follow from its pace.

    `recipe` has fields of `train.recipe.Recipe`, those of older runs not all of them.
    """
    given = {field.name: recipe[field.name] for field in fields(Schedule) if field.name in recipe}
    schedule, last_step = Schedule(**given, d_model=d_model), recipe.get("steps", 30_000)
    timed = [line for line in lines if line.get("hours")]
    if not (limit := recipe.get("minutes")) or not timed:
        return schedule, last_step
    step, minutes = timed[-1]["step"], 60 * timed[-1]["hours"]
    last_step = min(last_step, round(step * limit / minutes))
    warmup = fitted_warmup(step, schedule.warmup, minutes, limit)
    fitted = replace(
        schedule,
        warmup=max(1, round(warmup)),
        rate_scale=schedule.rate_scale * fitted_scale(warmup, schedule.warmup),
        cooldown=max(schedule.cooldown, round(last_step * recipe.get("cooldown_minutes", 0.0) / limit)),
    )
    return fitted, last_step


def logged_values(lines: Sequence[LogLine], kind: str, measure: str) -> tuple[list[int], list[float]]:
    """The steps that have a measure, and its values; perplexity is the exponential of nll where it is not logged."""
    steps: list[int] = []
    values: list[float] = []
    for line in of_kind(lines, kind):
        value = line.get(measure)
        if value is None and measure == "perplexity" and "nll" in line:
            value = math.exp(line["nll"]) if line["nll"] < MOST_NLL else math.inf
        if value is not None:
            steps.append(line["step"])
            values.append(value)
    return steps, values


def log_curves(lines: Sequence[LogLine], measure: str) -> Curves:
    """One of `MEASURES` over the steps: training as a thin line, validation as a line with points."""
    curves: list[Curve] = []
    for kind, name in (("train", marked("training")), ("valid", marked("validation"))):
        steps, values = logged_values(lines, kind, measure)
        if steps:
            curve = Curve(name=Phrase(name), places=steps, values=values, color=5, width=1.2)
            curves.append(curve if kind == "train" else replace(curve, color=0, width=2, shape="both"))
    has_logarithm = any(0 < value < math.inf for curve in curves for value in curve.values)
    return Curves(
        title=Phrase(MEASURES[measure]),
        axis=Phrase(MEASURES[measure]),
        below=Phrase(marked("step")),
        curves=curves,
        limits=(None if measure in ("nll", "perplexity") else 0, None),
        scale="log" if measure == "perplexity" and has_logarithm else "linear",
    )


def run_answer(lines: Sequence[LogLine]) -> Phrase | None:
    """What a run reached, and whether it still improves or overfits; None for a log without a loss.

    Both are judged by the lowest validation loss, the last, and the lowest before the last tenth of the steps.
    """
    trained, valid = (zip(*logged_values(lines, kind, "nll"), strict=True) for kind in ("train", "valid"))
    train, losses = ({step: loss for step, loss in each if abs(loss) < MOST_NLL} for each in (trained, valid))
    if not losses and not train:
        return None
    last = max(losses or train)
    values = {"loss": Number((losses or train)[last], ".3f"), "last": Number(last, ",")}
    early = [step for step in losses if step <= (1 - TAIL) * last]
    if not early:
        first = marked("The first validation, at step {last}, has a loss of {loss} nats per token.")
        none = marked("The training loss is {loss} nats per token at step {last}; nothing has been validated.")
        return Phrase(first if losses else none, **values)
    at, since = min(losses, key=losses.__getitem__), min(early, key=losses.__getitem__)
    values |= {"best": Number(losses[at], ".3f"), "at": Number(at, ",")}
    values |= {"earlier": Number(losses[since], ".3f"), "since": Number(since, ",")}
    if losses[last] > (1 + LEVEL) * losses[at]:
        words = marked(
            "The run overfits unless its training loss rose too: the validation loss was lowest at step {at}, {best} "
            "nats per token, and is {loss}."
        )
    elif losses[at] < (1 - LEVEL) * losses[since]:
        words = marked(
            "The run still improves: the validation loss is {best} nats per token, at step {since} it was {earlier}."
        )
    else:
        words = marked(
            "The run is level: the validation loss is {best} nats per token, at step {since} it was {earlier}."
        )
    return Phrase(words, **values)


def log_columns(lines: Sequence[LogLine]) -> Columns:
    """The values of all curves, a row for each line of the log."""
    rows = [line for line in lines if line["kind"] != "sample"]
    names = ["step", "kind", *sorted({name for line in rows for name in line} - {"step", "kind"})]
    return {name: [line.get(name) for line in rows] for name in names}


def schedule_curves(mine: Schedule, last_step: int, logged: Sequence[LogLine] = ()) -> Curves:
    """A schedule, the paper's base schedule (dashed), and logged rates (points)."""
    steps = schedule_steps(mine, last_step)
    places, rates = logged_values(logged, "train", "rate")
    of_paper, own = (schedule.rates(steps, last_step) for schedule in (PAPER, mine))
    curves = [
        Curve(name=Phrase(marked("the paper's base model")), places=steps, values=of_paper, color=1, dash="dash"),
        Curve(name=Phrase(marked("these settings")), places=steps, values=own, color=0),
    ]
    if places:
        name = Phrase(marked("as logged"))
        curves.append(Curve(name=name, places=places, values=rates, color=2, shape="points"))
    return Curves(
        title=Phrase(marked("Learning rate")),
        axis=Phrase(marked("learning rate")),
        below=Phrase(marked("step")),
        curves=curves,
        limits=(0, None),
    )


def schedule_steps(mine: Schedule, last_step: int) -> list[int]:
    """The steps at which a schedule is drawn: evenly spaced ones, and its corners."""
    even = [round(1 + (last_step - 1) * point / (POINTS - 1)) for point in range(POINTS)]
    corners = [step for step in (mine.warmup, PAPER.warmup, last_step - mine.cooldown) if 1 <= step <= last_step]
    return sorted({*even, *corners})


def schedule_columns(mine: Schedule, last_step: int) -> Columns:
    """The values of `schedule_curves`."""
    steps = schedule_steps(mine, last_step)
    return {"step": steps, "rate": mine.rates(steps, last_step), "paper_rate": PAPER.rates(steps, last_step)}
