"""Records of training runs: the shipped log and card, and folders of runs."""

import io
import math
import os
import re
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from core.analysis.csv_output import original_text
from core.files.runlog import LogLine, parse_log
from core.files.shipped_files import shipped_folder
from core.files.strict_json import json_object
from viz_app.language import tr
from viz_app.session import model_paths, models
from viz_app.views.models.training.run_facts import RunRecordError, checked_facts

SHIPPED_TABLE_3 = shipped_folder("docs/table3")
IN_PROGRESS_SECONDS = 300.0  # seconds since its last line for which a run counts as in progress
LOG, RECIPE, TABLE_3 = "log.jsonl", "recipe.json", "table3.csv"
MAX_LOG_BYTES, MAX_TEXT_BYTES = 2**24, 2**20  # of a log; of any other file
MAX_ROWS, MAX_COLUMNS = 1_000, 100  # of Table 3
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


@dataclass(frozen=True)
class Run:
    """The records of a run.

    Attributes:
        lines: of its log.
        age: seconds since the log was written.
        facts: preset, config and recipe.
        card: the file of its model card, if it has one.
        log: the file of its log.
    """

    name: str
    lines: tuple[LogLine, ...]
    age: float
    facts: dict[str, Any] = field(default_factory=dict[str, Any])
    card: Path | None = None
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
    """Read the records of a shipped checkpoint, which have its name with other suffixes.

    Args:
        model: if it is not a shipped one, the records are of the checkpoint that the app starts with.

    Raises:
        RunRecordError: a file is damaged.
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
        RunRecordError: it has no run, or cannot be read.
    """
    if not folder.is_dir():
        raise RunRecordError(
            tr("There is no folder {folder}: enter the one given to `python -m train fit --run`.", folder=_name(folder))
        )
    log, recipe = _file_in(folder, LOG), _file_in(folder, RECIPE)
    if log is None and recipe is None:
        raise RunRecordError(
            tr(
                "{folder} has neither log.jsonl nor recipe.json, so it is not the folder of a run: enter the one given "
                "to `python -m train fit --run`.",
                folder=_name(folder),
            )
        )
    try:
        facts = json_object(_content(recipe, MAX_TEXT_BYTES)) if recipe else {}
    except ValueError as error:
        raise RunRecordError(tr("{file} cannot be read: {error}", file=_name(folder / RECIPE), error=error)) from error
    facts = checked_facts(facts, _name(folder / RECIPE))
    age = abs(time.time() - os.path.getmtime(log)) if log else 0.0  # the clock may have been set back
    cards = [path for name, path in model_paths.entries(folder).items() if name.endswith(".md") and path.is_file()]
    lines = _lines(log) if log else ()
    return Run(folder.name, lines, age, facts, cards[0] if cards else None, log or folder / LOG)


def card_text(run: Run) -> str:
    """Return the model card of a run in Markdown, without its metadata; "" if it has none.

    Raises:
        RunRecordError: it cannot be read.
    """
    if run.card is None:
        return ""
    try:
        return _body(_content(run.card, MAX_TEXT_BYTES).decode("utf-8"))
    except UnicodeDecodeError as error:
        raise RunRecordError(tr("{file} cannot be read: {error}", file=_name(run.card), error=error)) from error


def runs_in(folder: Path) -> list[Path]:
    """List the folders of runs in a folder, or the folder itself if it is one."""
    if any(os.path.lexists(folder / name) for name in (LOG, RECIPE)):
        return [folder]
    return [path for path in model_paths.entries(folder).values() if os.path.lexists(path / RECIPE)]


def tables_in(folder: Path) -> list[Path]:
    """List the folders with results of Table 3 in a folder, the largest first.

    The folder itself is listed if it has some, or if none has.
    """
    is_table = os.path.lexists(folder / TABLE_3)
    sizes = {} if is_table else {path: _size(path / TABLE_3) for path in model_paths.entries(folder).values()}
    by_size = sorted((path for path in sizes if sizes[path] >= 0), key=lambda path: (-sizes[path], path))
    return by_size or [folder]


def _size(path: Path) -> int:
    """Size of a file in bytes; -1 if there is none."""
    return os.path.getsize(path) if os.path.isfile(path) else -1


def table_3(folder: Path) -> pd.DataFrame | None:
    """Read the results of `python -m train table3` in a folder; None if there are none.

    Raises:
        RunRecordError: the file is damaged.
    """
    path = _file_in(folder, TABLE_3)
    if path is None:
        return None
    content, numbers = _content(path, MAX_TEXT_BYTES), TABLE_3_COLUMNS - {"row", "change"}
    try:
        table = pd.read_csv(
            io.BytesIO(content),
            keep_default_na=False,
            na_values={name: [""] for name in numbers},
            dtype={"row": str, "change": str},
        )
    except (OSError, ValueError, OverflowError) as error:
        raise RunRecordError(tr("{file} cannot be read: {error}", file=_name(path), error=error)) from error
    if missing := TABLE_3_COLUMNS - set(table.columns):
        raise RunRecordError(
            tr(
                "{file} has no column {columns}: it was not written by `python -m train table3`.",
                file=_name(path),
                columns=", ".join(sorted(missing)),
            )
        )
    if len(table) > MAX_ROWS or len(table.columns) > MAX_COLUMNS:
        raise RunRecordError(
            tr(
                "{file} has {rows:,} rows and {columns:,} columns, at most {most_rows:,} and {most_columns:,} are "
                "shown.",
                file=_name(path),
                rows=len(table),
                columns=len(table.columns),
                most_rows=MAX_ROWS,
                most_columns=MAX_COLUMNS,
            )
        )
    if table.empty:
        return None
    for name in sorted(numbers):
        wrong = [value for value in table[name] if not _is_number(value)]
        if wrong or table[name].dtype.kind not in "iuf":
            raise RunRecordError(
                tr(
                    "{file} has {value!r:.40} for {name}, expected a number.",
                    file=_name(path),
                    name=name,
                    value=(wrong or list(table[name]))[0],
                )
            )
    return table.map(original_text)


def _is_number(value: object) -> bool:
    """Whether a value of a table, or a text in it, is finite or missing."""
    try:
        return math.isfinite(float(str(value))) or (isinstance(value, float) and math.isnan(value))
    except ValueError:
        return False


def _file_in(folder: Path, name: str) -> Path | None:
    try:
        return model_paths.file_in(folder, name)
    except models.ModelError as error:
        raise RunRecordError(str(error)) from error


def _content(path: Path, most_bytes: int) -> bytes:
    try:
        return model_paths.read(path, most_bytes)
    except models.ModelError as error:
        raise RunRecordError(str(error)) from error


def _name(path: Path) -> str:
    """Name of a file or folder after that of the folder it is in, for messages."""
    return f"{path.parent.name}/{path.name}".strip("/") or str(path)


def _lines(log: Path) -> tuple[LogLine, ...]:
    try:
        return tuple(parse_log(_content(log, MAX_LOG_BYTES), _name(log)))
    except ValueError as error:
        raise RunRecordError(tr("The log cannot be read: {error}", error=error)) from error


def _body(markdown: str) -> str:
    """Return a card without its metadata, its pictures and its links to other files.

    The page shows the scores and draws the curves itself, and the app has no addresses of files. The pattern allows no
    bracket within the brackets, as a search for their ends would take the square of the text's length.
    """
    text = re.sub(r"\A---\n.*?\n---\n", "", markdown, flags=re.DOTALL)
    text = re.sub(r"!\[[^\[\]]*\]\([^()]*\)\s*", "", text)
    text = re.sub(r"!(?=\[)", "", text)  # other pictures become links: the browser loads nothing from elsewhere
    return re.sub(r"\[([^\[\]]+)\]\((?!https?:)[^()]*\)", r"\1", text)
