"""Records of training runs: the shipped log and card, and folders of runs."""

import json
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

import pandas as pd

from core.analysis.csv_output import original_text
from core.runlog import LogLine, read_log
from core.shipped_files import shipped_folder
from core.training_runs import steps_of_runs
from viz_app.language import tr
from viz_app.session import models

TABLE_3 = "table3.csv"
SHIPPED_TABLE_3 = shipped_folder("docs/table3")
IN_PROGRESS_SECONDS = 300.0  # seconds since its last line for which a run counts as in progress
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
    """A run cannot be shown; the message, which the page shows, says why."""


@dataclass(frozen=True)
class Run:
    """The records of a run.

    Attributes:
        lines: of its log.
        age: seconds since the log was written.
        facts: preset, config and recipe.
        card: the model card in Markdown, or "".
        log: the file of its log.
    """

    name: str
    lines: tuple[LogLine, ...]
    age: float
    facts: dict[str, Any] = field(default_factory=dict[str, Any])
    card: str = ""
    log: Path = Path()

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
        """Whether the run is not at its end and has written something lately."""
        return self.age < IN_PROGRESS_SECONDS and self.last_step is not None and self.step < self.last_step


def shipped_run(model: models.Model) -> Run:
    """Read the records of a shipped checkpoint.

    They have its name with other suffixes.

    Args:
        model: if it is not a shipped one, the records are of the checkpoint that the app starts with.

    Raises:
        RunRecordError: a file is damaged.
    """
    path = Path(model.path)
    if path not in models.shipped_paths().values():
        path = models.shipped_path()
    log, card = path.with_suffix(".log.jsonl"), path.with_suffix(".md")
    lines = _lines(log) if log.exists() else ()
    return Run(
        path.name,
        lines,
        float("inf"),
        card=_body(card.read_text(encoding="utf-8")) if card.exists() else "",
        log=log.resolve(),
    )


def run_in(folder: Path) -> Run:
    """Read the run in a folder that `python -m train fit` has written.

    Raises:
        RunRecordError: it has no run, or cannot be read.
    """
    log, recipe = folder / "log.jsonl", folder / "recipe.json"
    if not folder.is_dir():
        raise RunRecordError(
            tr("There is no folder {folder}: enter the one given to `python -m train fit --run`.", folder=folder)
        )
    if not log.exists() and not recipe.exists():
        raise RunRecordError(
            tr(
                "{folder} has neither log.jsonl nor recipe.json, so it is not the folder of a run: enter the one given "
                "to `python -m train fit --run`.",
                folder=folder,
            )
        )
    try:
        facts = json.loads(recipe.read_text(encoding="utf-8")) if recipe.exists() else {}
        age = abs(time.time() - log.stat().st_mtime) if log.exists() else 0.0  # the clock may have been set back
    except (OSError, ValueError) as error:
        raise RunRecordError(tr("{file} cannot be read: {error}", file=recipe, error=error)) from error
    card = next(iter(sorted(folder.glob("*.md"))), None)
    text = _body(card.read_text(encoding="utf-8")) if card else ""
    lines = _lines(log) if log.exists() else ()
    return Run(folder.name, lines, age, facts if isinstance(facts, dict) else {}, text, log.resolve())


def runs_in(folder: Path) -> list[Path]:
    """List the folders of runs in a folder, or the folder itself if it is one."""
    if (folder / "log.jsonl").exists() or (folder / "recipe.json").exists():
        return [folder]
    return sorted(path.parent for path in folder.glob("*/recipe.json")) if folder.is_dir() else []


def tables_in(folder: Path) -> list[Path]:
    """List the folders with results of Table 3 in a folder, the largest first.

    That is the folder itself if it has some, or if none has.
    """
    within = [] if (folder / TABLE_3).exists() else folder.glob(f"*/{TABLE_3}")
    by_size = sorted(within, key=lambda path: (-path.stat().st_size, path))
    return [path.parent for path in by_size] or [folder]


def table_3(folder: Path) -> pd.DataFrame | None:
    """Read the results of `python -m train table3` in a folder.

    Returns None if there are none.

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
        raise RunRecordError(tr("{file} cannot be read: {error}", file=path, error=error)) from error
    if missing := TABLE_3_COLUMNS - set(table.columns):
        raise RunRecordError(
            tr(
                "{file} has no column {columns}: it was not written by `python -m train table3`.",
                file=path,
                columns=", ".join(sorted(missing)),
            )
        )
    return table.map(original_text)


def start_note(facts: dict[str, Any], last_step: int) -> str:
    """Say which checkpoint a run started from, in a sentence.

    If the log has the runs before, too: at which steps they began.

    Args:
        facts: of the run.
        last_step: of its log.

    Returns:
        "" if it started from random parameters.
    """
    starts = run_starts(facts)
    if len(starts) < 2:
        return ""
    if has_all_runs(facts, last_step):
        return tr(
            "{count} runs, each started from the checkpoint of the one before. They began at these steps: {steps}.",
            count=len(starts),
            steps=" · ".join(f"{step:,}" for step in starts),
        )
    return tr(
        "It started from {checkpoint}, trained for {steps:,} steps, which are not in this log.",
        checkpoint=facts["init"].get("file", tr("a checkpoint")),
        steps=starts[-1],
    )


def run_starts(facts: dict[str, Any]) -> list[int]:
    """Return the steps at which a run and those before it began.

    They are counted from the start of the first one. Empty if the facts do not tell.
    """
    before = steps_of_runs(facts.get("init"))
    known = [steps for steps in before if steps is not None]
    return [0, *accumulate(known)] if len(known) == len(before) else []


def has_all_runs(facts: dict[str, Any], last_step: int) -> bool:
    """Whether a log that ends with `last_step` has the runs before, too."""
    starts = run_starts(facts)
    return len(starts) > 1 and isinstance(facts.get("steps"), int) and last_step == starts[-1] + facts["steps"]


def last_run(facts: dict[str, Any], lines: Sequence[LogLine]) -> list[LogLine]:
    """Return the lines of the last run, with its own steps."""
    start = run_starts(facts)[-1] if lines and has_all_runs(facts, lines[-1]["step"]) else 0
    return [{**line, "step": line["step"] - start} for line in lines if line["step"] > start]


def _lines(log: Path) -> tuple[LogLine, ...]:
    try:
        return tuple(read_log(log))
    except (OSError, ValueError) as error:
        raise RunRecordError(tr("The log cannot be read: {error}", error=error)) from error


def _body(markdown: str) -> str:
    """Return a card without its metadata, its pictures and its links to other files.

    The page shows the scores and draws the curves itself, and the app has no addresses of files.
    """
    text = re.sub(r"\A---\n.*?\n---\n", "", markdown, flags=re.DOTALL)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)\s*", "", text)
    return re.sub(r"\[([^\]]+)\]\((?!https?:)[^)]*\)", r"\1", text)
