"""Variations of the model (6.2): the rows of the paper's Table 3, and what was trained of them here."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from core.analysis.csv_output import original_text
from core.analysis.declaration import Columns
from core.files.shipped_files import shipped_folder
from core.formats.untrusted_parameters import num_parameters
from core.model.preset_configs import PRESETS
from core.model.training import LABEL_SMOOTHING


class Variation(NamedTuple):
    """A row of Table 3: English to German, newstest2013, without checkpoint averaging."""

    perplexity: float  # per word-piece, of the plain likelihood
    bleu: float  # cased, tokenized
    parameters: int | None = None  # in millions; None where the paper leaves the field empty
    label_smoothing: float = LABEL_SMOOTHING  # epsilon_ls in training
    steps: int = 100_000  # of the training


# By the name of the preset with this shape.
TABLE_3: dict[str, Variation] = {
    "base": Variation(4.92, 25.8, 65),
    "A-h1": Variation(5.29, 24.9),
    "A-h4": Variation(5.00, 25.5),
    "A-h16": Variation(4.91, 25.8),
    "A-h32": Variation(5.01, 25.4),
    "B-dk16": Variation(5.16, 25.1, 58),
    "B-dk32": Variation(5.01, 25.4, 60),
    "C-N2": Variation(6.11, 23.7, 36),
    "C-N4": Variation(5.19, 25.3, 50),
    "C-N8": Variation(4.88, 25.5, 80),
    "C-d256": Variation(5.75, 24.5, 28),
    "C-d1024": Variation(4.66, 26.0, 168),
    "C-ff1024": Variation(5.12, 25.4, 53),
    "C-ff4096": Variation(4.75, 26.2, 90),
    "D-dropout0.0": Variation(5.77, 24.6),
    "D-dropout0.2": Variation(4.95, 25.5),
    "D-label-smoothing0.0": Variation(4.67, 25.3, label_smoothing=0.0),
    "D-label-smoothing0.2": Variation(5.47, 25.7, label_smoothing=0.2),
    "E-learned": Variation(4.92, 25.7),
    "big": Variation(4.33, 26.4, 213, steps=300_000),
}
BASE, SCORES, DIGITS = "base", ("perplexity", "bleu"), 3  # scores are compared to so many decimals
TABLE_FILE = "table3.csv"  # of an experiment, as `python -m train table3` writes it
NUMBERS = {"seed": int, "parameters": int, "hours": float, "perplexity": float, "bleu": float}  # in that file

Run = dict[str, Any]  # a line of the file
Line = dict[str, Any]  # of Table 3, as it is shown


def read_runs(path: Path) -> list[Run]:
    """Read the table of an experiment, a row of Table 3 with a seed each.

    Raises:
        KeyError: a column is missing.
        ValueError: a number is none.
    """
    with path.open(encoding="utf-8", newline="") as file:
        lines: list[Run] = [{name: original_text(text) for name, text in line.items()} for line in csv.DictReader(file)]
    return [{**line, **{name: kind(line[name]) for name, kind in NUMBERS.items()}} for line in lines]


class Trained(NamedTuple):
    """A row of Table 3 in an experiment."""

    row: str
    experiment: str
    shape: str  # of the model
    scores: dict[str, list[float]]  # by name, one for each seed
    differences: dict[str, float]  # of their means, from the mean of base in this experiment; none without base


def trained_rows(folder: Path | None = None) -> list[Trained]:
    """Return the rows that the experiments in a folder of folders, or the shipped ones, trained, by experiment."""
    paths = sorted((folder or shipped_folder("docs/table3")).glob(f"*/{TABLE_FILE}"))
    return [each for path in paths for each in _of_experiment(path.parent.name, read_runs(path))]


def _of_experiment(name: str, runs: Sequence[Run]) -> list[Trained]:
    shapes = {run["row"]: run["shape"] for run in runs}
    scores = {row: {score: [run[score] for run in runs if run["row"] == row] for score in SCORES} for row in shapes}
    base = scores.get(BASE, {})

    def differences(row: str) -> dict[str, float]:
        return {score: round(_mean(scores[row][score]) - _mean(base[score]), DIGITS) for score in base}

    return [Trained(row, name, shape, scores[row], differences(row)) for row, shape in shapes.items()]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def paper_difference(row: str, score: str) -> float:
    """Return the difference of a row from base in the paper, in `perplexity` or `bleu`."""
    return round(getattr(TABLE_3[row], score) - getattr(TABLE_3[BASE], score), DIGITS)


def seed_range(trained: Sequence[Trained], score: str = "perplexity") -> float:
    """Return the largest difference of two seeds of a row: a smaller difference of two rows may be chance."""
    return max((round(max(each.scores[score]) - min(each.scores[score]), DIGITS) for each in trained), default=0.0)


def as_in_paper(each: Trained, margin: float, score: str = "perplexity") -> bool | None:
    """Return whether a row differs from base in the paper's direction.

    Returns:
        None if it differs by no more than `margin`, here or in the paper, or if there is no base to compare it with.
    """
    here, paper = each.differences.get(score, 0.0), paper_difference(each.row, score)
    return here * paper > 0 if min(abs(here), abs(paper)) > margin else None


def table_3_lines(trained: Sequence[Trained] | None = None) -> list[Line]:
    """Return Table 3 with what was trained here: a line for each row and experiment, or one for a row without any.

    Its values: `row`; its shape and training, `layers` of each stack to `positions`; the paper's `paper_perplexity`,
    `paper_bleu` and `paper_parameters` (millions, None where it has none); `parameters` of the preset, with the paper's
    vocabulary of 37,000; the name of the `experiment` and the `trained_shape`, None without one; of each score the mean
    over its seeds, the lowest and the highest, and the difference from base (`..._vs_base`); `as_in_paper`, see there.
    """
    trained = trained_rows() if trained is None else trained
    margin = seed_range(trained)
    lines: list[Line] = []
    for row, paper in TABLE_3.items():
        config = PRESETS[row]
        heads = config.encoder_heads  # the same as the decoder's in every row
        shared: Line = {
            "row": row,
            "layers": config.num_encoder_layers,
            "d_model": config.d_model,
            "d_ff": config.d_ff,
            "heads": heads.num_heads,
            "d_k": heads.d_k,
            "d_v": heads.d_v,
            "dropout": config.dropout,
            "label_smoothing": paper.label_smoothing,
            "steps": paper.steps,
            "positions": config.positions,
            **{f"paper_{name}": getattr(paper, name) for name in (*SCORES, "parameters")},
            "parameters": num_parameters(config),
        }
        here = [each for each in trained if each.row == row]
        lines += [{**shared, **_measured(each, margin)} for each in here or [None]]
    return lines


def _measured(each: Trained | None, margin: float) -> Line:
    found: Line = {"experiment": each and each.experiment, "trained_shape": each and each.shape}
    for score in SCORES:
        values = each and each.scores[score]
        found[score] = values and round(_mean(values), DIGITS)
        found |= {f"{score}_lowest": values and min(values), f"{score}_highest": values and max(values)}
        found[f"{score}_vs_base"] = each and each.differences.get(score)
    return found | {"as_in_paper": each and as_in_paper(each, margin)}


def table_3() -> Columns:
    """Return the columns of `table_3_lines`."""
    lines = table_3_lines()
    return {name: [line[name] for line in lines] for name in lines[0]}
