"""A run's folder: settings, log, snapshots, and the state to resume from.

recipe.json            preset, configuration, recipe, data, command, commit
log.jsonl              one JSON object a line: {"kind": "train" | "valid" | "sample", "step": ..., ...}
tensorboard/           the same numbers as curves
history/               step-00000000.safetensors, ...: the snapshots of `Recipe.history`, in half precision
snapshots/             step-00001000.safetensors, ...: checkpoints as `core.formats.checkpoint` writes them
best.safetensors       the snapshot with the lowest validation loss so far
state.pt               parameters, optimizer, position in the data, with checksums, as in every file of `torch.save`
lock                   held by the process that trains here
"""

import errno
import fcntl
import functools
import hashlib
import pickle
import shlex
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

from core.files.console import command_line
from core.files.damaged_archives import DAMAGE
from core.files.file_writing import NotWrittenError, reading, write_atomically, write_text
from core.files.runlog import parse_line
from core.files.strict_json import json_text, read_json
from core.model.config import TransformerConfig
from train.recipe import CHANGEABLE, Recipe, TrainingPrecision
from train.runs.state_file import check_like, load_state, save_state
from train.snapshot_checksum import checksum_file, with_checksum

IDENTITY = ("preset", "config", "seed", "manifest", "init")  # recorded facts that tell runs apart
# Recipe fields missing from the records of older runs, with the values that those runs had.
LEGACY_RECIPE: dict[str, Any] = {"bucketing": "target", "precision": "bfloat16"}


class RunFolderError(RuntimeError):
    """The run's folder is locked or cannot be written; the message says which files are safe, and what to do."""


@dataclass(frozen=True)
class RunSettings:
    """Settings of a run, which stay the same when it is resumed.

    Attributes:
        preset: its name.
        recipe: with its precision resolved; see `train.precision`.
        data: the prepared folder.
        manifest: of the data.
        init: facts of the checkpoint that the run starts from; see `train.warm_start`.
    """

    preset: str
    config: TransformerConfig
    recipe: Recipe
    data: Path
    manifest: dict[str, Any]
    init: dict[str, Any] | None = None

    def facts(self) -> dict[str, Any]:
        """Return the facts that a run records first."""
        return {
            "preset": self.preset,
            "config": asdict(self.config),
            "recipe": asdict(self.recipe),
            "data": self.data.name,
        }


@dataclass(frozen=True)
class RunFolder:
    """Paths of a run's files, and their reading and writing."""

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

    def history(self, step: int) -> Path:
        return self.path / "history" / f"step-{step:08d}.safetensors"

    def snapshots(self) -> list[Path]:
        """Return all snapshots, oldest first."""
        return sorted((self.path / "snapshots").glob("step-*.safetensors"))

    def drop_old_snapshots(self, keep: int) -> None:
        for path in self.snapshots()[:-keep]:
            path.unlink()
            checksum_file(path).unlink(missing_ok=True)

    def keep_as_best(self, snapshot: Path) -> None:
        with with_checksum(self.best):
            write_atomically(self.best, lambda temporary: _copy(snapshot, temporary))

    def save_state(self, state: dict[str, Any]) -> None:
        save_state(self.state, state, self._digest())

    def load_state(self) -> dict[str, Any] | None:
        """Load the state to resume from, None if there is none.

        Raises:
            RunFolderError: it is damaged, or of another run.
        """
        with self.resuming():
            return load_state(self.state, self._digest()) if self.state.exists() else None

    @contextmanager
    def resuming(self) -> Iterator[None]:
        """Turn errors of reading or restoring the state into a `RunFolderError` that names the file and says what to
        do.
        """
        try:
            yield
        except (*DAMAGE, pickle.UnpicklingError, AttributeError) as error:
            is_of_system = isinstance(error, OSError) and error.errno not in (None, errno.EINVAL)  # as a wrong offset
            if is_of_system or isinstance(error, RunFolderError | torch.OutOfMemoryError):
                raise
            (reason, *_), snapshots = str(error).splitlines() or [repr(error)], self.snapshots()
            last = command_line("--init", snapshots[-1]) if snapshots else ""
            init = f", from the parameters of its last snapshot with {last}" if snapshots else ""
            raise RunFolderError(
                f"{self.state} is damaged or of another run ({reason:.200}), so this run cannot be resumed: put back a "
                f"copy of it, or train in another folder{init}"
            ) from error

    def _digest(self) -> str | None:
        """Return a digest of the facts that tell runs apart; None if there are none."""
        if not self.recipe.exists():
            return None
        record = self._record()
        facts = [record.get(name) for name in IDENTITY]
        return hashlib.sha256(json_text(facts, sort_keys=True).encode()).hexdigest()

    def _record(self) -> dict[str, Any]:
        """Read the recorded settings.

        Raises:
            RunFolderError: they are damaged.
        """
        advice = "put back a copy of it, or give another folder with --run"
        try:
            record = read_json(self.recipe)
        except ValueError as error:
            raise RunFolderError(f"{error}; {advice}") from error
        sample = {"preset": "", "command": "", "config": {}, "recipe": {}, "manifest": {}}
        sample |= {"resumed": [{"step": 0}]} if "resumed" in record else {}
        try:
            check_like(record, sample)
        except ValueError as error:
            raise RunFolderError(f"{self.recipe} is damaged: {error}; {advice}") from error
        return record

    def truncate_log(self, last_step: int) -> None:
        """Drop log lines later than the state to resume from, so that no step is logged twice."""
        if not self.log.exists():
            return
        with reading(self.log):
            *lines, _ = self.log.read_bytes().split(b"\n")  # the last one is cut off by a kill, or empty
        kept: list[bytes] = []
        for number, line in enumerate(lines, 1):
            try:
                if not line.strip() or parse_line(line, f"{self.log}, line {number}")["step"] <= last_step:
                    kept.append(line)
            except ValueError as error:
                raise RunFolderError(f"{error}: mend or remove this line, and run the same command again") from error
        content = b"".join(line + b"\n" for line in kept)
        write_atomically(self.log, lambda temporary: temporary.write_bytes(content))

    def precision(self) -> TrainingPrecision | None:
        """Return the precision of the run in this folder; None if there is no run."""
        if not self.recipe.exists():
            return None
        return {**LEGACY_RECIPE, **self._record()["recipe"]}["precision"]

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder against other processes; the system releases the lock of a killed process.

        Raises:
            RunFolderError: another process holds the lock, or the folder cannot be written.
        """
        try:
            (self.path / "snapshots").mkdir(parents=True, exist_ok=True)
            file = (self.path / "lock").open("a+")
        except OSError as error:
            raise RunFolderError(
                f"the run's folder {self.path} cannot be written: {error}; give another with --run"
            ) from error
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise RunFolderError(
                    f"another process is training in {self.path}: wait for it, stop it, or give another folder with "
                    f"--run"
                ) from error
            for part in self.path.rglob(".*.part"):  # of a process that was killed
                part.unlink()
            yield

    @contextmanager
    def saving(self, what: str) -> Iterator[None]:
        """Turn an OSError (disk full, folder removed) into a `RunFolderError` that says which files are safe."""
        try:
            yield
        except OSError as error:
            reason = error.reason if isinstance(error, NotWrittenError) else error
            safe = "files saved earlier are intact" if self.state.exists() else "nothing was saved yet"
            raise RunFolderError(
                f"{what} could not be written to {self.path}: {reason}; {safe}. Free disk space, then run the same "
                f"command again"
            ) from error

    def start(
        self, settings: RunSettings, hardware: str, step: int, measured: dict[str, float] | None = None
    ) -> dict[str, Any]:
        """Record the settings of a new run, or check that those of an existing run are the same.

        Args:
            step: the step to resume from, recorded with the commit if that has changed.
            measured: the measured times by which the precision was chosen.

        Returns:
            The facts of the run, for its checkpoints.

        Raises:
            ValueError: the folder holds a run with another preset, configuration, recipe or data.
        """
        facts = settings.facts()
        command = portable(shlex.join(["python", "-m", "train", *sys.argv[1:]]))
        if self.recipe.exists():
            record = self._record()
            try:
                differing = _differing(record, settings)
            except (TypeError, ValueError, KeyError) as error:
                raise RunFolderError(f"{self.recipe} is damaged: {error}; give another folder with --run") from error
            if differing:
                raise ValueError(
                    f"{self.path} holds a run with another {', '.join(differing)}: resume it with its own settings, or "
                    f"give another folder"
                )
            code = commit()
            if code != record.get("resumed", [record])[-1].get("commit"):
                record["resumed"] = [*record.get("resumed", []), {"step": step, "commit": code}]
                self._write_recipe(record)
            if record["recipe"] == facts["recipe"]:
                command = portable(record["command"])  # otherwise the latest one says when the run ends
            return {**record, "command": command, "recipe": facts["recipe"]}
        record = {
            **facts,
            "command": command,
            "commit": commit(),
            "seed": settings.recipe.seed,
            "hardware": hardware,
            "torch": torch.__version__,
            "manifest": settings.manifest,
            **({"init": settings.init} if settings.init else {}),
            **({"precision_measured": measured} if measured else {}),
        }
        self._write_recipe(record)
        return record

    def _write_recipe(self, record: dict[str, Any]) -> None:
        text = json_text(record, indent=2, ensure_ascii=False)
        write_text(self.recipe, text)


def _differing(record: dict[str, Any], settings: RunSettings) -> list[str]:
    """Return the settings that differ from those of an existing run, in words.

    Fields missing from its record have the values of `LEGACY_RECIPE`, or else their defaults.
    """
    differing = ["preset"] if record["preset"] != settings.preset else []
    for new, recorded in (
        (settings.config, TransformerConfig(**record["config"])),
        (settings.recipe, Recipe(**{**LEGACY_RECIPE, **record["recipe"]})),
    ):
        old = asdict(recorded)
        differing += [
            f"{name} ({old[name]}, not {value})"
            for name, value in asdict(new).items()
            if old[name] != value and name not in CHANGEABLE
        ]
    files = [facts["file"] if facts else "none" for facts in (record.get("init"), settings.init)]
    differing += [f"--init ({files[0]}, not {files[1]})"] if record.get("init") != settings.init else []
    return differing + (["data"] if record["manifest"] != settings.manifest else [])


def _copy(source: Path, target: Path) -> None:
    shutil.copyfile(source, target)


@functools.cache  # the code that a process has imported stays the same
def commit() -> str | None:
    """Return the commit of the running code, with `+` if the tree has changes; None outside a git checkout."""
    root = Path(__file__).resolve().parents[2]
    try:
        head, changed = (_git(root, *command) for command in (("rev-parse", "HEAD"), ("status", "--porcelain")))
    except (OSError, subprocess.CalledProcessError):
        return None
    return head + ("+" if changed else "")


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True).stdout.strip()


def now() -> str:
    """Return the time in UTC, to the second, in ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def folder_of(facts: dict[str, Any]) -> str:
    """Return the folder of a run, from the `fit` command among its facts."""
    words = _words(facts.get("command", ""))
    return words[words.index("--run") + 1] if "--run" in words[:-1] else ""


def portable(command: str) -> str:
    """Return a command with absolute paths shortened to file names, as such paths mean nothing on other machines."""
    return shlex.join(Path(word).name if Path(word).is_absolute() else word for word in _words(command))


def _words(command: str) -> list[str]:
    """Words of a recorded command; those of earlier versions may be without quotes."""
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()
