"""Checkpoint averaging (6.1): the mean of snapshots, of one run or of several, as one checkpoint."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from core.files.file_writing import file_digest
from core.files.training_runs import training_facts_of, training_runs
from core.formats.checkpoint import load_checkpoint, save_checkpoint
from train.runs.provenance import folder_of, portable
from train.runs.run_record import IDENTITY
from train.snapshot_checksum import check_checksum
from train.warm_start import recorded


def average(paths: Sequence[Path], output: Path, half: bool = False) -> dict[str, Any]:
    """Write the mean of the parameters of `paths` to `output`, with the training facts of the last of them.

    They are checkpoints of one configuration and tokenizer, oldest first: snapshots of one run (6.1), or of runs with a
    common beginning (Wortsman et al. 2022). A single one is only converted.

    Returns:
        The training facts of the new checkpoint; `averaged` lists the files and their steps, and the facts of their
        runs (see `core.files.training_runs.averaged_files`).

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
    parts = [{"file": paths[-1].name, "steps": last.training.get("steps")}]
    for path in reversed(paths[:-1]):
        other = load_checkpoint(path)
        if other.config != last.config:
            raise ValueError(
                f"{path} and {paths[-1]} have different configurations: average snapshots of one run, or of "
                f"runs with a common beginning"
            )
        if other.tokenizer.to_bytes() != last.tokenizer.to_bytes():
            raise ValueError(
                f"{path} and {paths[-1]} have different tokenizers: average snapshots of one run, or of "
                f"runs with a common beginning"
            )
        for name, parameter in other.model.named_parameters():
            sums[name] += parameter
        with training_facts_of(path):
            parts.insert(0, _part(path, other.training, last.training))
    for name, parameter in last.model.named_parameters():
        parameter.copy_(sums[name] / len(paths))
    facts: dict[str, Any] = {
        **{name: fact for name, fact in last.training.items() if name != "scores"},  # scores of the last snapshot alone
        "averaged": parts,
        "stored_as": "float16" if half else "float32",
    }
    if "command" in facts:
        with training_facts_of(paths[-1]):
            facts["command"] = portable(facts["command"])
    save_checkpoint(output, last.model, last.tokenizer, facts, torch.float16 if half else torch.float32)
    return facts


def _part(path: Path, training: dict[str, Any], last: dict[str, Any]) -> dict[str, Any]:
    """Return what a mean records of a checkpoint, from its facts and the last one's: see `averaged_files`."""
    part = {"file": path.name, "steps": training.get("steps")}
    is_same_run = all(training.get(name) == last.get(name) for name in IDENTITY)
    if is_same_run and Path(folder_of(training)).name == Path(folder_of(last)).name:
        return part
    gone_back_to = {run.get("sha256") for run in training_runs(last)}
    if (digest := file_digest(path)) in gone_back_to:
        return {**part, "sha256": digest}
    run = recorded(training)
    if "init" in run and run["init"].get("sha256") in gone_back_to:
        del run["init"]
    if "command" in run:
        run["command"] = portable(run["command"])
    return {**part, "run": run}
