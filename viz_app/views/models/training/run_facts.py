"""Untrusted facts of a training run, from its folder or its checkpoint."""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from core.files.runlog import LogLine
from core.files.training_runs import steps_of_runs
from viz_app.language import ToldError, localized, tr

# Settings that the page computes with, and their ranges.
SETTINGS: dict[str, dict[str, tuple[type, float, float]]] = {
    "recipe": {
        "steps": (int, 1, 10**9),
        "warmup": (int, 1, 10**9),
        "rate_scale": (float, 0, 1e9),
        "cooldown": (int, 0, 10**9),
        "minutes": (float, 0, 1e9),
        "cooldown_minutes": (float, 0, 1e9),
    },
    "config": {"d_model": (int, 1, 10**6)},
}


class RunRecordError(ToldError):
    """A run cannot be shown; the message, which the page shows, says why."""


def checked_facts(facts: Mapping[str, Any], file: str) -> dict[str, Any]:
    """Return the untrusted facts of a run, in a file of this name, after checking that the settings are numbers.

    Raises:
        RunRecordError: one is not.
    """
    checked = dict(facts)
    for part, names in SETTINGS.items():
        settings: Any = checked.setdefault(part, {})
        if not isinstance(settings, dict):
            raise RunRecordError(
                "{file} has {value!r:.40} for {name}, expected settings by name.",
                file=file,
                name=part,
                value=settings,
            )
        for name, (kind, least, most) in names.items():
            value = settings.get(name, least)
            if type(value) not in (int, kind) or not least <= value <= most:
                raise RunRecordError(
                    "{file} has {value!r:.40} for {name}, expected a number from {least:,} to {most:,}.",
                    file=file,
                    name=f"{part}.{name}",
                    value=value,
                    least=least,
                    most=most,
                )
    return checked


def start_note(facts: dict[str, Any], last_step: int) -> str:
    """Say in a sentence which checkpoint a run started from and, if the log has them, at which steps its runs began.

    "" if it started from random parameters.
    """
    starts = run_starts(facts)
    if len(starts) < 2:
        return ""
    if has_all_runs(facts, last_step):
        return tr(
            "{count} runs, each started from a checkpoint of those before. They began at these steps: {steps}.",
            count=len(starts),
            steps=" · ".join(localized(step, ",") for step in starts),
        )
    return tr(
        "It started from {checkpoint}, trained for {steps:,} steps, which are not in this log.",
        checkpoint=_started_from(facts),
        steps=starts[-1],
    )


def _started_from(facts: dict[str, Any]) -> str:
    init: Any = facts.get("init")
    return init.get("file", tr("a checkpoint")) if isinstance(init, dict) else tr("a checkpoint")


def run_starts(facts: dict[str, Any]) -> list[int]:
    """Return the steps at which a run and those before it began, counted from the start of the first one; the other
    runs of a mean count as those before.

    Empty if the facts do not tell.
    """
    before = steps_of_runs(facts)[:-1]
    known = [steps for steps in before if steps is not None]
    return [0, *accumulate(known)] if len(known) == len(before) else []


def has_all_runs(facts: dict[str, Any], last_step: int) -> bool:
    """Whether a log that ends with `last_step` also covers the runs before."""
    starts = run_starts(facts)
    return len(starts) > 1 and isinstance(facts.get("steps"), int) and last_step == starts[-1] + facts["steps"]


def last_run(facts: dict[str, Any], lines: Sequence[LogLine]) -> list[LogLine]:
    """Return the lines of the last run, with its own steps."""
    start = run_starts(facts)[-1] if lines and has_all_runs(facts, lines[-1]["step"]) else 0
    return [{**line, "step": line["step"] - start} for line in lines if line["step"] > start]
