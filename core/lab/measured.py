"""What was seen of each variant: the results of `python -m benchmarks.lab`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from statistics import median
from typing import NamedTuple

from core.lab.variants import Settings

FILE = Path(__file__).with_suffix(".json")
STEPS = (200, 400, 600)  # after which exact answers are counted


class Result(NamedTuple):
    """One training.

    Attributes:
        exact: share of the unseen pairs that are answered exactly after each of `STEPS`.
        loss: of the last step, in nats.
        entropy: mean over the heads and rows of the encoder's first layer before the first step, as a share of that of
            equal weights.
    """

    exact: Sequence[float]
    loss: float
    entropy: float


class Spread(NamedTuple):
    """A median with its range."""

    median: float
    least: float
    greatest: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        return cls(median(values), min(values), max(values))


class Measured(NamedTuple):
    """Results of one row over its seeds, see `Result`."""

    seeds: int
    exact: tuple[Spread, ...]
    loss: Spread
    entropy: Spread

    @classmethod
    def of(cls, results: Sequence[Result]) -> "Measured":
        exact, losses, entropies = zip(*results, strict=True)
        return cls(
            len(results), tuple(map(Spread.of, zip(*exact, strict=True))), Spread.of(losses), Spread.of(entropies)
        )


def read(path: Path) -> dict[str, list[Result]]:
    """Return the results of a file by their rows, see `row_name`; none if there is no file."""
    rows = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return {row: [Result(*each) for each in results] for row, results in rows.items()}


@cache
def recorded() -> Mapping[str, Measured]:
    """Return what is shipped, by row."""
    return {row: Measured.of(results) for row, results in read(FILE).items()}


def row_name(task: str, variants: Sequence[str], settings: Settings) -> str:
    """Return the name of a row for `recorded`, such as "reverse no_norm num_layers=6"; any seed has the same."""
    usual, own = (vars(replace(each, seed=0)) for each in (Settings(), settings))
    return " ".join([task, *variants, *(f"{name}={own[name]}" for name in own if own[name] != usual[name])])
