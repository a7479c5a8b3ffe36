"""Table 3 of the paper (6.2) at any scale, all rows trained under one budget and compared with the paper's numbers.

Files in the output folder:

    ROW/              the folder of the first seed's run; see `train.runs.run_folder`
    ROW-seed-N/       the folder of another seed's run
    */score.json      the run's line of the table
    table3.csv        all finished runs
    table3.svg        their figure
"""

import csv
import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from core.analysis.csv_output import without_formula
from core.analysis.model_variations import NUMBERS, TABLE_3, TABLE_FILE, Run, read_runs
from core.files.file_writing import write_atomically, write_text
from core.files.strict_json import json_text, read_json
from core.formats.checkpoint import load_checkpoint
from core.model.config import TransformerConfig
from core.model.preset_configs import PRESETS
from core.translator import Translator
from train.data.token_shards import read_manifest
from train.eval.translation_scores import TestSet, evaluate
from train.loop import fit
from train.presets import shape_text
from train.recipe import Recipe, recipe_for
from train.runs.run_folder import RunFolder
from train.snapshot_checksum import check_checksum

MAX_STEPS = 1_000_000  # of a row with a budget in minutes
COLUMNS = (  # of the table
    *("row", "seed", "shape", "parameters", "steps", "test_set", "sentences", "beam_size", "hours"),
    *("perplexity", "bleu", "bleu_signature"),
)
WARMUP_SHARE = 5  # at most 1/5 of the steps are warm-up, so that short runs reach the peak rate


@dataclass(frozen=True)
class Budget:
    """The budget of each row: optimizer steps, or minutes of training."""

    steps: int = 0
    minutes: float = 0.0

    @classmethod
    def parse(cls, text: str) -> "Budget":
        """Parse `2000` (steps) or `30m` (minutes).

        Raises:
            ValueError: the text is neither.
        """
        if re.fullmatch(r"[1-9]\d*", text):
            return cls(steps=int(text))
        if (minutes_text := re.fullmatch(r"(\d+(?:\.\d+)?)m", text)) and (minutes := float(minutes_text[1])):
            return cls(minutes=minutes)
        raise ValueError(f"the budget ({text}) must be a number of steps, such as 2000, or of minutes, such as 30m")

    def applied(self, recipe: Recipe, given: dict[str, Any]) -> Recipe:
        """Return the recipe with this budget, and with the given fields."""
        if not self.steps:
            return replace(recipe, **{"steps": MAX_STEPS, "minutes": self.minutes, **given})
        return replace(
            recipe, **{"steps": self.steps, "warmup": max(1, min(recipe.warmup, self.steps // WARMUP_SHARE)), **given}
        )


def scaled(config: TransformerConfig, width: int = 1, depth: int = 1) -> TransformerConfig:
    """Divide the widths d_model, d_ff, d_k and d_v by `width` and the numbers of layers by `depth`; the heads stay.

    Raises:
        ValueError: a value is not divisible.
    """

    def divided(name: str, divisor: int) -> int | None:
        value = getattr(config, name)
        if value is None:
            return None
        if value % divisor:
            raise ValueError(
                f"{name} ({value}) cannot be divided by {divisor}: choose another scale, or leave out the row"
            )
        return value // divisor

    widths = {name: divided(name, width) for name in ("d_model", "d_ff", "d_k", "d_v")}
    return replace(
        config, **widths, **{name: divided(name, depth) for name in ("num_encoder_layers", "num_decoder_layers")}
    )  # pyright: ignore[reportArgumentType]


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Settings shared by all rows."""

    data: Path
    folder: Path
    budget: Budget
    width: int
    depth: int
    given: dict[str, Any]  # recipe fields that replace those of the rows' presets
    seeds: tuple[int, ...] = ()  # each row is trained once with each; none for the seed of the row's preset
    test_set: TestSet  # the text for perplexity and BLEU
    beam_size: int
    device: torch.device

    def run(self, rows: Sequence[str], log: Callable[[str], None] = print) -> list[Run]:
        """Train and score those of the rows that are unfinished, updating the table after each.

        Returns:
            All finished runs of the folder, in the order of the paper's table and then by seed.

        Raises:
            ValueError: a row is not in Table 3, cannot be scaled, or was started with other settings.
            Other errors as in `fit`.
        """
        if unknown := [row for row in rows if row not in TABLE_3]:
            raise ValueError(f"{', '.join(unknown)}: no such row; there are {', '.join(TABLE_3)}")
        shapes = {row: self.config(row) for row in rows}  # raises before the first row is trained
        for seed, row in itertools.product(self.seeds or (None,), rows):
            done = self._row(row, shapes[row], seed)
            name = row if seed is None else f"{row}, seed {seed}"
            log(
                f"{name}: perplexity {done['perplexity']}, BLEU {done['bleu']}, {done['parameters']:,} parameters, "
                f"{done['hours']} h"
            )
            write_table(self.folder, read_rows(self.folder))
        return read_rows(self.folder)

    def config(self, row: str) -> TransformerConfig:
        """Return the scaled configuration of a row, with the vocabulary size of the data."""
        try:
            return scaled(
                replace(PRESETS[row], vocab_size=read_manifest(self.data)["vocab_size"]), self.width, self.depth
            )
        except ValueError as error:
            raise ValueError(f"{row}: {error}") from error

    def _row(self, row: str, config: TransformerConfig, seed: int | None) -> Run:
        is_first = seed is None or seed == self.seeds[0]
        run = RunFolder(self.folder / (row if is_first else f"{row}-seed-{seed}"))
        recipe = self.budget.applied(recipe_for(row), self.given if seed is None else {**self.given, "seed": seed})
        if recipe.precision == "auto":  # measured for the first row and used for all
            runs = run, *(RunFolder(self.folder / other) for other in TABLE_3)
            recorded = (each.record.recipe().get("precision") for each in runs)
            recipe = replace(recipe, precision=next(filter(None, recorded), "auto"))
        fit(row, config, recipe, self.data, run.path, self.device)
        snapshot = run.snapshots()[-1]
        check_checksum(snapshot)
        checkpoint = load_checkpoint(snapshot)
        facts = {"steps": checkpoint.training["steps"], "test_set": self.test_set.name}
        facts |= {"sentences": len(self.test_set.pairs), "beam_size": self.beam_size}
        path = run.path / "score.json"
        if path.exists():
            scored = _read_score(path)
            if facts.items() <= scored.items():
                return scored
        score = evaluate(
            Translator(checkpoint.model.to(self.device), checkpoint.tokenizer), self.test_set, self.beam_size
        )[0].facts()
        scored = {
            "row": row,
            "shape": shape_text(config),
            "parameters": sum(parameter.numel() for parameter in checkpoint.model.parameters()),
            **facts,
            "hours": checkpoint.training["hours"],
            **{name: score[name] for name in ("perplexity", "bleu", "bleu_signature")},
        }
        write_text(path, json_text(scored, indent=2, ensure_ascii=False))
        return scored


def read_rows(folder: Path) -> list[Run]:
    """Read the finished runs of a folder, in the order of the paper's table, by seed."""
    return _sorted(_read_run(path.parent) for path in folder.glob("*/score.json") if _row_of(path.parent) in TABLE_3)


def _sorted(runs: Iterable[Run]) -> list[Run]:
    order = list(TABLE_3)
    return sorted(runs, key=lambda run: (order.index(run["row"]), run["seed"]))


def _row_of(run: Path) -> str:
    """Return the row of Table 3 that the run in a folder belongs to."""
    return run.name.partition("-seed-")[0]


def _read_run(run: Path) -> Run:
    if type(seed := read_json(run / "recipe.json").get("seed")) is not int:
        raise ValueError(f"{run / 'recipe.json'} is damaged: seed is {seed!r:.60}, not a whole number")
    return {"row": _row_of(run), "seed": seed, **_read_score(run / "score.json")}


def _read_score(path: Path) -> Run:
    """Read a finished run's line of the table."""
    advice = "remove it, and run the same command again: the row is scored again"
    try:
        score = read_json(path)
    except ValueError as error:
        raise ValueError(f"{error}; {advice}") from error
    for name in NUMBERS:
        if name != "seed" and type(number := score.get(name)) not in (int, float):  # the seed is in recipe.json
            raise ValueError(f"{path} is damaged: {name} is {number!r:.60}, not a number; {advice}")
    return score


def add_runs(folder: Path, runs: Path) -> None:
    """Add the finished runs of another folder to an experiment's table3.csv, and draw table3.svg again.

    A run takes the place of an earlier one of the same row and seed.
    """
    every = [*read_runs(folder / TABLE_FILE), *read_rows(runs)]
    write_table(folder, _sorted({(run["row"], run["seed"]): run for run in every}.values()))


def write_table(folder: Path, rows: Sequence[Run]) -> None:
    """Write finished runs as table3.csv, and their figure as table3.svg."""

    def write(temporary: Path) -> None:
        with temporary.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore")
            writer.writeheader()
            writer.writerows({name: without_formula(value) for name, value in row.items()} for row in rows)

    write_atomically(folder / TABLE_FILE, write)
    draw_rows(rows, folder / "table3.svg")


# --- The figure: measured results beside the paper's ----------------------------------------------------------------


# Field of a row, axis label, unit. The paper gives parameters in millions.
PANELS = (
    ("perplexity", "perplexity per piece", 1.0),
    ("bleu", "BLEU", 1.0),
    ("parameters", "parameters, millions", 1e6),
    ("hours", "hours of training", 1.0),
)
HERE, PAPER = "#0072b2", "#d55e00"  # Okabe & Ito (2008)


def draw_rows(rows: Sequence[dict[str, Any]], output: Path) -> None:
    """Draw a panel per number, a line per row: circles for measured seeds, open diamonds for the paper's values."""
    from matplotlib.figure import Figure  # a slow import

    names = list(dict.fromkeys(row["row"] for row in rows))
    figure = Figure(figsize=(12, 1.6 + 0.3 * len(names)), layout="constrained")
    panels = figure.subplots(1, len(PANELS), sharey=True)
    places = [names.index(row["row"]) for row in rows]
    for axes, (name, title, unit) in zip(panels, PANELS, strict=True):
        axes.plot([row[name] / unit for row in rows], places, "o", color=HERE, alpha=0.7, label="measured here")
        if name != "hours":  # not given in the paper
            paper = {place: getattr(TABLE_3[row], name) for place, row in enumerate(names)}
            known = [place for place, value in paper.items() if value is not None]
            values = [paper[place] for place in known]
            axes.plot(values, known, "D", color=PAPER, fillstyle="none", label="the paper")
        axes.set_xlabel(title)
        axes.grid(alpha=0.3)
    panels[0].set_yticks(range(len(names)), names)
    panels[0].set_ylim(len(names) - 0.5, -0.5)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=2, frameon=False)  # outside the panels
    figure.savefig(output)
