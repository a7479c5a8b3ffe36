"""A run's folder: log, snapshots, and the state to resume from.

recipe.json            preset, configuration, recipe, data, command, commit: train/runs/run_record.py
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
import pickle
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from core.files.console import command_line
from core.files.damaged_archives import DAMAGE
from core.files.file_writing import NotWrittenError, reading, write_atomically, write_bytes
from core.files.runlog import parse_line
from train.runs.run_record import RunFolderError, RunRecord
from train.runs.state_file import load_state, save_state
from train.snapshot_checksum import checksum_file, with_checksum


@dataclass(frozen=True)
class RunFolder:
    """Paths of a run's files, and their reading and writing."""

    path: Path

    @property
    def record(self) -> RunRecord:
        return RunRecord(self.path / "recipe.json")

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
            write_atomically(self.best, partial(shutil.copyfile, snapshot))

    def save_state(self, state: dict[str, Any]) -> None:
        save_state(self.state, state, self.record.digest())

    def load_state(self) -> dict[str, Any] | None:
        """Load the state to resume from, None if there is none.

        Raises:
            RunFolderError: it is damaged, or of another run.
        """
        with self.resuming():
            return load_state(self.state, self.record.digest()) if self.state.exists() else None

    @contextmanager
    def resuming(self) -> Iterator[None]:
        """Turn errors of reading or restoring the state into a `RunFolderError` with the file and what to do."""
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
        write_bytes(self.log, content)

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
