"""Records of training runs, which are not trusted: the shipped log and card, folders of runs, and their facts."""

import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

from core.files.runlog import LogLine, parse_log
from core.files.strict_json import json_object
from core.files.training_runs import steps_of_runs
from viz_app.language import RefusedError, localized, tr
from viz_app.session import model_paths, models

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


def checked_facts(facts: Mapping[str, Any], file: str) -> dict[str, Any]:
    """Return the untrusted facts of a run, in a file of this name, after checking that the settings are numbers.

    Raises:
        ValueError: one is not.
    """
    checked = dict(facts)
    for part, names in SETTINGS.items():
        settings: Any = checked.setdefault(part, {})
        if not isinstance(settings, dict):
            raise RefusedError(
                "{file} has {value!r:.40} for {name}, expected settings by name.", file=file, name=part, value=settings
            )
        for name, (kind, least, most) in names.items():
            value = settings.get(name, least)
            if type(value) not in (int, kind) or not least <= value <= most:
                raise RefusedError(
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


LATE_LINES = 5  # times the seconds of its own lines for which a run that writes nothing counts as in progress
LEAST_SECONDS = 60.0
LOG, RECIPE = "log.jsonl", "recipe.json"
MAX_LOG_BYTES, MAX_TEXT_BYTES = 2**24, 2**20  # of a log; of any other file


@dataclass(frozen=True)
class Run:
    """The records of a run."""

    name: str
    lines: tuple[LogLine, ...]  # of its log
    age: float  # seconds since the log was written
    facts: dict[str, Any] = field(default_factory=dict[str, Any])  # preset, config and recipe
    card: Path | None = None  # the file of its model card, if it has one
    log: Path = Path()  # the file of its log

    @property
    def step(self) -> int:
        """The last step in the log; 0 before the first."""
        return self.lines[-1]["step"] if self.lines else 0

    @property
    def last_step(self) -> int | None:
        """The step that the run ends with, if known."""
        return self.facts.get("recipe", {}).get("steps")

    @property
    def is_in_progress(self) -> bool:
        """Whether the run is not at its end and has written something lately, by its own pace."""
        return self.age < self._patience and self.last_step is not None and self.step < self.last_step

    @property
    def _patience(self) -> float:
        """Seconds without a line after which the run counts as stopped."""
        steps = [(line["step"], line.get("seconds_per_step", 0.0)) for line in self.lines if line["kind"] == "train"]
        (before, _), (last, seconds) = ([(0, 0.0)] * 2 + steps)[-2:]
        return max(LEAST_SECONDS, LATE_LINES * (last - before) * seconds)


def shipped_run(model: models.Model) -> Run:
    """Read the records of a shipped checkpoint, which have its name with other suffixes.

    Those of another model are of the checkpoint that the app starts with.

    Raises:
        ModelError, ValueError: a file cannot be read, or is damaged.
    """
    path = Path(model.path)
    if path not in models.shipped_paths().values():
        path = models.shipped_path()
    log, card = (path.with_suffix(suffix).resolve() for suffix in (".log.jsonl", ".md"))
    lines = _lines(log) if log.exists() else ()
    return Run(path.name, lines, float("inf"), card=card if card.exists() else None, log=log)


def run_in(folder: Path) -> Run:
    """Read the run in a folder that `python -m train fit` has written.

    Raises:
        ModelError, ValueError: it has no run, or cannot be read.
    """
    if not folder.is_dir():
        raise RefusedError(
            "There is no folder {folder}: enter the one given to `python -m train fit --run`.", folder=_name(folder)
        )
    log, recipe = (model_paths.file_in(folder, name) for name in (LOG, RECIPE))
    if log is None and recipe is None:
        raise RefusedError(
            "{folder} has neither log.jsonl nor recipe.json, so it is not the folder of a run: enter the one given "
            "to `python -m train fit --run`.",
            folder=_name(folder),
        )
    try:
        facts = json_object(model_paths.read(recipe, MAX_TEXT_BYTES)) if recipe else {}
    except ValueError as error:
        raise RefusedError("{file} cannot be read: {error}", file=_name(folder / RECIPE), error=error) from error
    facts = checked_facts(facts, _name(folder / RECIPE))
    age = abs(time.time() - os.path.getmtime(log)) if log else 0.0  # the clock may have been set back
    cards = [path for name, path in model_paths.entries(folder).items() if name.endswith(".md") and path.is_file()]
    lines = _lines(log) if log else ()
    return Run(folder.name, lines, age, facts, cards[0] if cards else None, log or folder / LOG)


def card_text(run: Run) -> str:
    """Return the model card of a run in Markdown, without its metadata; "" if it has none.

    Raises:
        ModelError, ValueError: it cannot be read.
    """
    if run.card is None:
        return ""
    try:
        return _body(model_paths.read(run.card, MAX_TEXT_BYTES).decode("utf-8"))
    except UnicodeDecodeError as error:
        raise RefusedError("{file} cannot be read: {error}", file=_name(run.card), error=error) from error


def runs_in(folder: Path) -> list[Path]:
    """List the folders of runs in a folder, or the folder itself if it is one."""
    if any(os.path.lexists(folder / name) for name in (LOG, RECIPE)):
        return [folder]
    return [path for path in model_paths.entries(folder).values() if os.path.lexists(path / RECIPE)]


def _name(path: Path) -> str:
    """Name of a file or folder after that of the folder it is in, for messages."""
    return f"{path.parent.name}/{path.name}".strip("/") or str(path)


def _lines(log: Path) -> tuple[LogLine, ...]:
    try:
        return tuple(parse_log(model_paths.read(log, MAX_LOG_BYTES), _name(log)))
    except ValueError as error:
        raise RefusedError("The log cannot be read: {error}", error=error) from error


def _body(markdown: str) -> str:
    """Return a card without its metadata, its pictures and its links to other files.

    The page shows the scores and draws the curves itself, and the app has no addresses of files. The pattern allows no
    bracket within the brackets, as a search for their ends would take the square of the text's length.
    """
    text = re.sub(r"\A---\n.*?\n---\n", "", markdown, flags=re.DOTALL)
    text = re.sub(r"!\[[^\[\]]*\]\([^()]*\)\s*", "", text)
    text = re.sub(r"!(?=\[)", "", text)  # other pictures become links: the browser loads nothing from elsewhere
    return re.sub(r"\[([^\[\]]+)\]\((?!https?:)[^()]*\)", r"\1", text)
