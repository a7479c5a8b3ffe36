"""Checkpoint averaging (6.1): the mean of a run's snapshots as one checkpoint."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from core.files.training_runs import training_facts_of
from core.formats.checkpoint import load_checkpoint, save_checkpoint
from train.runs.run_folder import portable
from train.snapshot_checksum import check_checksum


def average(paths: Sequence[Path], output: Path, half: bool = False) -> dict[str, Any]:
    """Write the mean of the parameters of `paths` to `output`, with the training facts of the last of them.

    Args:
        paths: checkpoints of one configuration and tokenizer, oldest first. A single one is only converted.
        half: store float16 instead of float32.

    Returns:
        The training facts of the new checkpoint; `averaged` lists the files and their steps.

    Raises:
        ValueError: there are no checkpoints, or their configurations or tokenizers differ.
        CheckpointError: one of them cannot be read.
    """
    if not paths:
        raise ValueError("there are no checkpoints to average")
    for path in paths:
        check_checksum(path)
    last = load_checkpoint(paths[-1])
    sums = {name: parameter.double() for name, parameter in last.model.named_parameters()}
    steps = [last.training.get("steps")]
    for path in reversed(paths[:-1]):
        other = load_checkpoint(path)
        if other.config != last.config:
            raise ValueError(
                f"{path} and {paths[-1]} have different configurations: only snapshots of one run can be averaged"
            )
        if other.tokenizer.to_bytes() != last.tokenizer.to_bytes():
            raise ValueError(
                f"{path} and {paths[-1]} have different tokenizers: only snapshots of one run can be averaged"
            )
        for name, parameter in other.model.named_parameters():
            sums[name] += parameter
        steps.insert(0, other.training.get("steps"))
    for name, parameter in last.model.named_parameters():
        parameter.copy_(sums[name] / len(paths))
    facts: dict[str, Any] = {
        **{name: fact for name, fact in last.training.items() if name != "scores"},  # scores of the last snapshot alone
        "averaged": [{"file": path.name, "steps": step} for path, step in zip(paths, steps, strict=True)],
        "stored_as": "float16" if half else "float32",
    }
    if "command" in facts:
        with training_facts_of(paths[-1]):
            facts["command"] = portable(facts["command"])
    save_checkpoint(output, last.model, last.tokenizer, facts, torch.float16 if half else torch.float32)
    return facts
