"""What is left of training runs: the shipped checkpoint's log and card, and any run's folder on this machine."""

import json
import re
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from core.runlog import Line, read_log
from viz_app.session import models

TABLE_3 = "table3.csv"
# the folder of the rows that were trained here
SHIPPED_TABLE_3 = Path(__file__).resolve().parents[3] / "docs" / "table3"
FRESH = 300.0  # seconds after its last line for which a run counts as in progress
TABLE_3_COLUMNS = {
    "row",
    "change",
    "parameters",
    "perplexity",
    "bleu",
    "hours",
    "paper_perplexity",
    "paper_bleu",
    "paper_parameters",
}


class RunRecordError(Exception):
    """There is no such run to look at; the message says why, for the reader of the page."""


@dataclass(frozen=True)
class Run:
    """What a run wrote down, as far as it is there.

    Attributes:
        lines: of its log.
        age: seconds since something was last written to it.
        facts: preset, config and recipe it was begun with.
        card: Markdown; empty if there is none.
    """

    name: str
    lines: tuple[Line, ...]
    age: float
    facts: dict[str, Any] = field(default_factory=dict[str, Any])
    card: str = ""

    @property
    def step(self) -> int:
        """The last that it wrote about; 0 before the first."""
        return self.lines[-1]["step"] if self.lines else 0

    @property
    def last_step(self) -> int | None:
        """The one that it is to end with, if that is known."""
        return self.facts.get("recipe", {}).get("steps")

    @property
    def is_going_on(self) -> bool:
        """Whether it seems to be in progress: it is not at its end, and wrote something lately."""
        return self.age < FRESH and self.last_step is not None and self.step < self.last_step


def shipped_run() -> Run:
    """That of the checkpoint that the app starts with: what lies beside it, named alike.

    Raises:
        RunRecordError: a file is damaged.
    """
    path = models.shipped_path()
    log, card = path.with_suffix(".log.jsonl"), path.with_suffix(".md")
    lines = _lines(log) if log.exists() else ()
    return Run(
        path.name,
        lines,
        float("inf"),
        card=_without_pictures(card.read_text(encoding="utf-8")) if card.exists() else "",
    )


def run_in(folder: Path) -> Run:
    """The run in a folder, as `python -m train fit` leaves it.

    Raises:
        RunRecordError: there is no run in it, or it cannot be read.
    """
    log, recipe = folder / "log.jsonl", folder / "recipe.json"
    if not folder.is_dir():
        raise RunRecordError(
            f"There is no folder {folder}: give the one that stands after --run of `python -m train fit`."
        )
    if not log.exists() and not recipe.exists():
        raise RunRecordError(
            f"{folder} has neither log.jsonl nor recipe.json, so it is not the folder of a run: give the one that "
            f"stands after --run."
        )
    try:
        facts = json.loads(recipe.read_text(encoding="utf-8")) if recipe.exists() else {}
        age = time.time() - log.stat().st_mtime if log.exists() else 0.0
    except (OSError, ValueError) as error:
        raise RunRecordError(f"{recipe} cannot be read: {error}") from error
    card = next(iter(sorted(folder.glob("*.md"))), None)
    text = _without_pictures(card.read_text(encoding="utf-8")) if card else ""
    return Run(folder.name, _lines(log) if log.exists() else (), age, facts if isinstance(facts, dict) else {}, text)


def runs_in(folder: Path) -> list[Path]:
    """The folders of runs in a folder, or the folder itself if it is one; none if it holds none."""
    if (folder / "log.jsonl").exists() or (folder / "recipe.json").exists():
        return [folder]
    return sorted(path.parent for path in folder.glob("*/recipe.json")) if folder.is_dir() else []


def table_3(folder: Path) -> pd.DataFrame | None:
    """What `python -m train table3` wrote into a folder; None if it wrote nothing there.

    Raises:
        RunRecordError: the file is damaged.
    """
    path = folder / TABLE_3
    if not path.exists():
        return None
    try:
        table = pd.read_csv(
            path, keep_default_na=False, na_values={name: [""] for name in TABLE_3_COLUMNS - {"row", "change"}}
        )
    except (OSError, ValueError) as error:
        raise RunRecordError(f"{path} cannot be read: {error}") from error
    if missing := TABLE_3_COLUMNS - set(table.columns):
        raise RunRecordError(
            f"{path} has no column {', '.join(sorted(missing))}: it was not written by `python -m train table3`."
        )
    return table


def told_before(facts: dict[str, Any]) -> str:
    """Where a run began, if not with random parameters: what its log does not hold; "" if it does not say."""
    init: Any = facts.get("init")
    steps = init.get("steps") if isinstance(init, dict) else None
    return (
        f"It began with the parameters of {init.get('file', 'a checkpoint')} after {steps:,} steps: they are not in "
        f"this log."
        if isinstance(steps, int)
        else ""
    )


def _lines(log: Path) -> tuple[Line, ...]:
    try:
        return tuple(read_log(log))
    except (OSError, ValueError) as error:
        raise RunRecordError(f"The log cannot be read: {error}") from error


def _without_pictures(markdown: str) -> str:
    """A card lies beside its pictures; the page does not, and draws the curves itself."""
    return re.sub(r"!\[[^\]]*\]\([^)]*\)\s*", "", markdown)
