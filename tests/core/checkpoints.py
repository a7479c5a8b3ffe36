"""Reading and writing the contents of a checkpoint file without the tested code."""

from pathlib import Path

from safetensors import safe_open
from torch import Tensor

Tensors = dict[str, Tensor]
Metadata = dict[str, str]
EMBEDDING = "embedding.tokens.weight"


def contents(path: Path) -> tuple[Tensors, Metadata]:
    with safe_open(path, framework="pt") as file:
        return {name: file.get_tensor(name).clone() for name in file.keys()}, file.metadata()  # noqa: SIM118
