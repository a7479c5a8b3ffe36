"""A run's folder: what it was asked to do, its log, its snapshots, and the state it resumes from.

recipe.json            preset, configuration, recipe, data, command, commit
log.jsonl              one JSON object a line: {"kind": "train" | "valid" | "sample", "step": ..., ...}
tensorboard/           the same numbers as curves
snapshots/             step-00001000.safetensors, ...: checkpoints as `core.checkpoint` writes them
best.safetensors       the snapshot with the lowest validation loss so far
state.pt               parameters, optimizer, position in the data
lock                   held by the process that trains here
"""

import fcntl
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from core.checkpoint import write_atomically
from core.config import TransformerConfig
from train.recipe import FREE, Recipe, TrainingPrecision

# Of runs that were begun before the recipe had these fields.
THEN: dict[str, Any] = {"bucketing": "target", "precision": "bfloat16"}


class RunError(RuntimeError):
    """A run that cannot go on; the message says why, what is safe and what to do."""


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

    @property
    def best(self) -> Path:
        return self.path / "best.safetensors"

    def snapshot(self, step: int) -> Path:
        return self.path / "snapshots" / f"step-{step:08d}.safetensors"

    def snapshots(self) -> list[Path]:
        """All snapshots, oldest first."""
        return sorted((self.path / "snapshots").glob("step-*.safetensors"))

    def drop_old_snapshots(self, keep: int) -> None:
        for path in self.snapshots()[:-keep]:
            path.unlink()

    def keep_as_best(self, snapshot: Path) -> None:
        write_atomically(self.best, lambda temporary: _copy(snapshot, temporary))

    def save_state(self, state: dict[str, Any]) -> None:
        write_atomically(self.state, lambda temporary: _save(state, temporary))

    def load_state(self) -> dict[str, Any] | None:
        return torch.load(self.state, map_location="cpu", weights_only=True) if self.state.exists() else None

    def truncate_log(self, last_step: int) -> None:
        """Forget what a killed run logged after the state that is resumed from, so that nothing is logged twice."""
        if not self.log.exists():
            return
        kept = [line for line in self.log.read_text(encoding="utf-8").splitlines() if _step_of(line) <= last_step]
        write_atomically(self.log, lambda temporary: _write_text(temporary, "".join(f"{line}\n" for line in kept)))

    def precision(self) -> TrainingPrecision | None:
        """What a run that was begun here computes in; None where there is none."""
        if not self.recipe.exists():
            return None
        return {**THEN, **json.loads(self.recipe.read_text(encoding="utf-8"))["recipe"]}["precision"]

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep every other process from training in this folder; a killed process lets go by itself.

        Raises:
            RunError: another process trains here, or the folder cannot be written.
        """
        try:
            (self.path / "snapshots").mkdir(parents=True, exist_ok=True)
            file = (self.path / "lock").open("a+")
        except OSError as error:
            raise RunError(
                f"the run's folder {self.path} cannot be written: {error}; give another with --run"
            ) from error
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise RunError(
                    f"another process is training in {self.path}: wait for it, stop it, or give another folder with "
                    f"--run"
                ) from error
            yield

    @contextmanager
    def saving(self, what: str) -> Iterator[None]:
        """Turn a failed write (disk full, folder gone) into a `RunError` that says what is safe."""
        try:
            yield
        except OSError as error:
            safe = "what was saved before is whole" if self.state.exists() else "nothing was saved yet"
            raise RunError(
                f"{what} could not be written to {self.path}: {error}; {safe}. Make room, then run the same command "
                f"again"
            ) from error

    def begin(
        self,
        preset: str,
        config: TransformerConfig,
        recipe: Recipe,
        data: Path,
        manifest: dict[str, Any],
        hardware: str,
        step: int,
        init: dict[str, Any] | None = None,
        measured: dict[str, float] | None = None,
    ) -> dict[str, Any]:
        """Write down what the run is; where one was begun, make sure that it is the same one.

        Args:
            recipe: its precision is settled, see `train.precision`.
            step: the step that it is resumed from; code that is not the first is noted with it.
            init: the facts of the checkpoint whose parameters it begins with; see `train.warm_start`.
            measured: what its precision was chosen by.

        Returns:
            The facts of the run, for its checkpoints.

        Raises:
            ValueError: the folder holds a run of another preset, configuration, recipe or data.
        """
        asked = {"preset": preset, "config": asdict(config), "recipe": asdict(recipe), "data": data.name}
        if self.recipe.exists():
            begun = json.loads(self.recipe.read_text(encoding="utf-8"))
            differing = _differing(begun, preset, config, recipe, manifest, init)
            if differing:
                raise ValueError(
                    f"{self.path} holds a run with another {', '.join(differing)}: resume it as it was begun, or give "
                    f"another folder"
                )
            code = commit()
            if code != begun.get("resumed", [begun])[-1]["commit"]:
                begun["resumed"] = [*begun.get("resumed", []), {"step": step, "commit": code}]
                self._write_recipe(begun)
            return {**begun, "command": portable(begun["command"]), "recipe": asked["recipe"]}
        begun = {
            **asked,
            "command": portable(" ".join(["python -m train", *sys.argv[1:]])),
            "commit": commit(),
            "seed": recipe.seed,
            "hardware": hardware,
            "torch": torch.__version__,
            "manifest": manifest,
            **({"init": init} if init else {}),
            **({"precision_measured": measured} if measured else {}),
        }
        self._write_recipe(begun)
        return begun

    def _write_recipe(self, begun: dict[str, Any]) -> None:
        text = json.dumps(begun, indent=2, ensure_ascii=False)
        write_atomically(self.recipe, lambda temporary: _write_text(temporary, text))


def _differing(
    begun: dict[str, Any],
    preset: str,
    config: TransformerConfig,
    recipe: Recipe,
    manifest: dict[str, Any],
    init: dict[str, Any] | None,
) -> list[str]:
    """What of a begun run is not as asked. A field that came after the run was begun had its default then, or this."""
    differing = ["preset"] if begun["preset"] != preset else []
    for asked, before in (
        (config, TransformerConfig(**begun["config"])),
        (recipe, Recipe(**{**THEN, **begun["recipe"]})),
    ):
        old = asdict(before)
        differing += [
            f"{name} ({old[name]}, not {value})"
            for name, value in asdict(asked).items()
            if old[name] != value and name not in FREE
        ]
    files = [facts["file"] if facts else "none" for facts in (begun.get("init"), init)]
    differing += [f"--init ({files[0]}, not {files[1]})"] if begun.get("init") != init else []
    return differing + (["data"] if begun["manifest"] != manifest else [])


def _save(state: dict[str, Any], path: Path) -> None:
    """`torch.save`, whose own errors hide what the system said."""
    with path.open("wb") as file:
        try:
            torch.save(state, file)
        except RuntimeError as error:
            raise error.__context__ if isinstance(error.__context__, OSError) else OSError(str(error)) from error


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _copy(source: Path, target: Path) -> None:
    shutil.copyfile(source, target)


def _step_of(line: str) -> float:
    try:
        return json.loads(line)["step"]
    except (ValueError, KeyError, TypeError):
        return float("inf")  # the line that the kill cut short


def commit() -> str | None:
    """The commit of the code that runs, with a `+` where the tree has changes; None outside a git checkout."""
    root = Path(__file__).resolve().parents[2]
    try:
        head, changed = (_git(root, *command) for command in (("rev-parse", "HEAD"), ("status", "--porcelain")))
    except (OSError, subprocess.CalledProcessError):
        return None
    return head + ("+" if changed else "")


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True).stdout.strip()


def now() -> str:
    """The time in UTC, to the second, as ISO 8601 writes it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def portable(command: str) -> str:
    """A command without the folders of the machine it ran on: they tell nobody else anything."""
    return " ".join(Path(word).name if Path(word).is_absolute() else word for word in command.split())
