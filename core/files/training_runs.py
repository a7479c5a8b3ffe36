"""The runs behind a checkpoint, each started with `train fit --init` from the checkpoint of the one before."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

MAX_STEPS = 2**53  # of a run; more are not believed, and not printed


def training_runs(training: object) -> list[dict[str, Any]]:
    """Return the facts of all runs that made a checkpoint, the first run first.

    Args:
        training: untrusted facts of the checkpoint; `init` has those of the checkpoint that its run started from.
    """
    runs: list[dict[str, Any]] = []
    while isinstance(training, dict):
        facts: dict[str, Any] = training
        runs.append(facts)
        training = facts.get("init")
    return runs[::-1]


def steps_of_runs(training: object) -> list[int | None]:
    """Return the number of steps of each of these runs, None where it is not known."""
    recorded = [run.get("steps") for run in training_runs(training)]
    return [steps if isinstance(steps, int) and 0 <= steps <= MAX_STEPS else None for steps in recorded]


@contextmanager
def training_facts_of(path: Path) -> Generator[None]:
    """Name the checkpoint whose training facts the block cannot use.

    Raises:
        ValueError: they are not as `train` writes them.
    """
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError) as error:
        raise ValueError(
            f"{path}: its training facts are not as `python -m train` writes them ({error!r:.200}): give a checkpoint "
            f"of a run, or one of `python -m train average`"
        ) from error
