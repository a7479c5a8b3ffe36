"""Reading and writing the contents of a checkpoint file without the tested code."""

from pathlib import Path

import pytest
from safetensors import safe_open
from torch import Tensor

from core.formats.checkpoint import CheckpointError, load_checkpoint

Tensors = dict[str, Tensor]
Metadata = dict[str, str]
EMBEDDING = "embedding.tokens.weight"


def contents(path: Path) -> tuple[Tensors, Metadata]:
    with safe_open(path, framework="pt") as file:
        return {name: file.get_tensor(name).clone() for name in file.keys()}, file.metadata()  # noqa: SIM118


def assert_not_loaded(path: Path, message: str) -> None:
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(path)
