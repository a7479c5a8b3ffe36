"""What was seen of each variant: the results of `python -m benchmarks.lab`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from core.lab.variants import Settings

FILE = Path(__file__).with_suffix(".json")
STEPS = (200, 400, 600)  # after which exact answers are counted


class Spread(NamedTuple):
    """A median with its range."""

    median: float
    least: float
    greatest: float


class Measured(NamedTuple):
    """Results of one row over its seeds."""

    seeds: int
    exact: tuple[Spread, ...]  # share of the unseen pairs that are answered exactly after each of `STEPS`
    loss: Spread  # of the last step, in nats
    # mean over heads and rows of the encoder's first layer before the first step, as a share of equal weights'
    entropy: Spread


def recorded(path: Path = FILE) -> Mapping[str, Measured]:
    """Return what a file has by row, see `row_name`; by default what is shipped."""
    return {row: measured(results) for row, results in json.loads(path.read_text("utf-8")).items()}


def measured(results: Sequence[Sequence[Any]]) -> Measured:
    """Summarize the trainings of a row, each with its exact shares, loss and entropy."""
    exact, *numbers = zip(*results, strict=True)
    *shares, loss, entropy = (
        Spread(median(each), min(each), max(each)) for each in (*zip(*exact, strict=True), *numbers)
    )
    return Measured(len(results), tuple(shares), loss, entropy)


def row_name(task: str, variants: Sequence[str], settings: Settings) -> str:
    """Return the name of a row, such as "reverse no_norm num_layers=6"; all seeds have the same."""
    usual, own = (vars(replace(each, seed=0)) for each in (Settings(), settings))
    return " ".join([task, *variants, *(f"{name}={own[name]}" for name in own if own[name] != usual[name])])
