"""The file of a run's state, written by PyTorch and checked when it is read."""

import zipfile
from pathlib import Path
from typing import Any

import torch

from core.files.file_writing import reading, write_atomically


def save_state(path: Path, state: dict[str, Any], run: str | None) -> None:
    """Write a state atomically; each of its tensors gets a checksum.

    Args:
        run: digest that identifies the run.

    Raises:
        NotWrittenError: it cannot be written; an older one is unchanged.
    """

    def write(temporary: Path) -> None:
        with temporary.open("wb") as file:
            try:
                torch.save({**state, "run": run}, file)
            except RuntimeError as error:  # less specific than the system's own
                raise error.__context__ if isinstance(error.__context__, OSError) else OSError(str(error)) from error

    write_atomically(path, write)


def load_state(path: Path, run: str | None) -> dict[str, Any]:
    """Read a state, on the CPU.

    Args:
        run: digest of the run that it should be of. States of earlier versions do not name theirs.

    Raises:
        ValueError: a checksum differs, or it is of another run.
        Other errors of `core.files.damaged_archives`, and `pickle.UnpicklingError`: it is damaged.
    """
    with reading(path), zipfile.ZipFile(path) as archive:
        if (part := archive.testzip()) is not None:  # `torch.load` does not compare the checksums
            raise ValueError(f"{part} has another checksum")
    state = torch.load(path, map_location="cpu", weights_only=True)
    if not isinstance(state, dict) or not isinstance(state.get("step"), int):
        raise ValueError("it is not the state of a run")
    if state.get("run", run) != run:
        raise ValueError("its run is not that of recipe.json")
    return state
