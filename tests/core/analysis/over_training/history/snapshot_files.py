"""Snapshots of `run_history`, and archives with other entries, for the tests of histories."""

import zipfile
from collections.abc import Callable
from pathlib import Path

import torch

from core.model import Transformer

STEPS = (0, 100, 300)


def weights(model: Transformer) -> list[torch.Tensor]:
    """All parameters, in the order of the model."""
    return [parameter for _, parameter in model.named_parameters()]


def rewritten(source: Path, target: Path, change: Callable[[str, bytes], list[tuple[str, bytes]]]) -> Path:
    """Copy an archive with other entries in place of each."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            for entry in change(name, old.read(name)):
                new.writestr(*entry)
    return target
