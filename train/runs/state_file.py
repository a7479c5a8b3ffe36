"""The file of a run's state, written by PyTorch and checked when it is read."""

import zipfile
from pathlib import Path
from typing import Any

import torch

from core.files.file_writing import reading, write_atomically


def save_state(path: Path, state: dict[str, Any], run: str | None) -> None:
    """Write a state atomically, with the digest of its run; each of its tensors gets a checksum.

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
    """Read a state of a run, on the CPU; states of earlier versions do not name theirs.

    Raises:
        ValueError: a checksum differs, or it is of another run or none.
        Other errors of `core.files.damaged_archives`, and `pickle.UnpicklingError`: it is damaged.
    """
    with reading(path), zipfile.ZipFile(path) as archive:
        if (part := archive.testzip()) is not None:  # `torch.load` does not compare the checksums
            raise ValueError(f"{part} has another checksum")
    state = torch.load(path, map_location="cpu", weights_only=True)
    check_like(state, {"step": 0})
    if state.get("run", run) != run:
        raise ValueError("its run is not that of recipe.json")
    return state


def check_like(value: Any, sample: Any, name: str = "") -> None:
    """Check that a value that was read has the types of a sample.

    Args:
        sample: a number, a text or a tensor; a dict, whose keys the value has; a list, of items that are all like its
            first; or a tuple of items, which the value has as a list.
        name: of the value, for the message.

    Raises:
        ValueError: it has another type, shape or number of items, or lacks a key.
    """
    match sample:
        case torch.Tensor():
            is_like = isinstance(value, torch.Tensor) and (value.dtype, value.shape) == (sample.dtype, sample.shape)
        case float():
            is_like = type(value) in (int, float)
        case tuple():
            is_like = isinstance(value, list) and len(value) == len(sample)
        case _:
            is_like = type(value) is type(sample) or (isinstance(value, dict) and isinstance(sample, dict))
    if not is_like:
        expected = f"a tensor {list(sample.shape)}" if isinstance(sample, torch.Tensor) else type(sample).__name__
        raise ValueError(f"{name or 'its content'} is {value!r:.60}, expected {expected}")
    if isinstance(sample, dict) and isinstance(value, dict):
        for key, each in sample.items():
            check_like(value.get(key), each, f"{name} {key}".strip())
    elif isinstance(sample, list | tuple):
        for number, each in enumerate(value):
            check_like(each, sample[0 if isinstance(sample, list) else number], name)
