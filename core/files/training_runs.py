"""The runs behind a checkpoint, each started with `train fit --init` from a checkpoint of those before."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

MAX_STEPS = 2**53  # of a run; more are not believed, and not printed


def training_runs(training: object) -> list[dict[str, Any]]:
    """Return the facts of all runs that made a checkpoint, the first run first, from its untrusted facts.

    `init` has those of the checkpoint that its run started from, and `averaged` the other runs of a mean over several.
    A run counts once, as its last snapshot in the mean records it.
    """
    runs, pending = list[dict[str, Any]](), [training]
    while pending:
        facts: Any = pending.pop()
        if isinstance(facts, dict):
            runs.append(facts)
            others = [run for part in averaged_files(facts) if isinstance(run := part.get("run"), dict)]
            pending += [facts.get("init"), *{str(run.get("command", id(run))): run for run in others}.values()]
    return runs[::-1]


def averaged_files(facts: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what is recorded of the checkpoints whose mean a checkpoint is, from its untrusted facts.

    Each has its `file` and `steps`. One of another run has the facts of that `run` too, without those of the runs that
    both go back to; one that the last run itself goes back to has its `sha256`, which an `init` has too.
    """
    files: Any = facts.get("averaged")
    return [part for part in files if isinstance(part, dict)] if isinstance(files, list) else []


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
