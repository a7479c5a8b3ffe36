"""A run's folder: what it was asked to do, its log, its snapshots, and the state it resumes from.

recipe.json            preset, configuration, recipe, data, command, commit
log.jsonl              one JSON object a line: {"kind": "train" | "valid" | "sample", "step": ..., ...}
tensorboard/           the same numbers as curves
snapshots/             step-00001000.safetensors, ...: checkpoints as `core.checkpoint` writes them
state.pt               parameters, optimizer, random generators, position in the data
"""

import json
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from core.checkpoint import write_whole


@dataclass(frozen=True)
class RunFolder:
    """Where everything of a run lies."""

    path: Path

    @property
    def recipe(self) -> Path:
        return self.path / "recipe.json"

    @property
    def log(self) -> Path:
        return self.path / "log.jsonl"

    @property
    def state(self) -> Path:
        return self.path / "state.pt"

    @property
    def tensorboard(self) -> Path:
        return self.path / "tensorboard"

    def snapshot(self, step: int) -> Path:
        return self.path / "snapshots" / f"step-{step:08d}.safetensors"

    def snapshots(self) -> list[Path]:
        """All snapshots, oldest first."""
        return sorted((self.path / "snapshots").glob("step-*.safetensors"))

    def drop_old_snapshots(self, keep: int) -> None:
        for path in self.snapshots()[:-keep]:
            path.unlink()

    def save_state(self, state: dict[str, Any]) -> None:
        write_whole(self.state, lambda temporary: torch.save(state, temporary))

    def load_state(self) -> dict[str, Any] | None:
        return torch.load(self.state, weights_only=True) if self.state.exists() else None

    def truncate_log(self, last_step: int) -> None:
        """Forget what a killed run logged after the state that is resumed from, so that nothing is logged twice."""
        if not self.log.exists():
            return
        kept = [line for line in self.log.read_text(encoding="utf-8").splitlines() if _step_of(line) <= last_step]
        write_whole(self.log, lambda temporary: temporary.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8"))


def _step_of(line: str) -> float:
    try:
        return json.loads(line)["step"]
    except (ValueError, KeyError):
        return float("inf")  # the line that the kill cut short


def commit() -> str | None:
    """The commit of the code that runs, with a `+` where the tree has changes; None outside a git checkout."""
    root = Path(__file__).resolve().parent.parent
    try:
        head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=True).stdout.strip()
        changed = subprocess.run(["git", "status", "--porcelain"], cwd=root, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
    return head + ("+" if changed else "")


def now() -> str:
    """The time in UTC, to the second, as ISO 8601 writes it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def portable(command: str) -> str:
    """A command without the folders of the machine it ran on: they tell nobody else anything."""
    return " ".join(Path(word).name if Path(word).is_absolute() else word for word in command.split())
