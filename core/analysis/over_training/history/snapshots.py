"""Untrusted snapshots of one training run, loaded one at a time."""

import math
import tempfile
import threading
import zipfile
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path

import torch

from core.analysis.over_training.history.eight_bits import RoundedSnapshot, to_eight_bits
from core.analysis.over_training.history.snapshot_files import (
    DIFFERENCE,
    EIGHT_BITS,
    LOG,
    SNAPSHOT,
    ArchiveFiles,
    FolderFiles,
    SnapshotFiles,
)
from core.files.argument_types import path_of
from core.files.budget import MAX_LOG_BYTES, MAX_SNAPSHOTS
from core.files.file_writing import reading, write_atomically
from core.files.runlog import LogLine, format_log, parse_log, thin_log
from core.files.training_runs import steps_of_runs
from core.formats.checkpoint import Checkpoint, CheckpointError, load_checkpoint, save_checkpoint
from core.formats.source_files import is_archive
from core.formats.untrusted_parameters import ADVICE
from core.inference.device import best_device
from core.translator import Translator

KEPT = 3  # translators in memory


class History:
    """The snapshots of one run; safe to share between threads.

    Attributes:
        label: name of the folder or archive.
        steps: of the snapshots, in increasing order.
        digest: in hexadecimal; differs between histories.
        in_eight_bits: whether parameters are rounded to 8 bits.
        tokenizer: of all snapshots.
        log: train and valid lines of the run's log with `step` and `nll` (nats per token), if it came along.
    """

    def __init__(self, files: SnapshotFiles) -> None:
        self.label, self._files = files.label, files
        self._names = _snapshot_names(files)
        self.steps = tuple(self._names)
        self.digest = files.digest()
        self.in_eight_bits = any(name.endswith((EIGHT_BITS, DIFFERENCE)) for name in self._names.values())
        self.log = self._read_log()
        self._kept: OrderedDict[int, Translator] = OrderedDict()  # by step, the oldest use first
        self._lock = threading.Lock()
        last = self._load(self.steps[-1])
        self.config, self.tokenizer = last.config, last.tokenizer
        self.tokenizer_bytes = last.tokenizer.to_bytes()
        self._keep(self.steps[-1], last)

    def checkpoint(self, step: int) -> Checkpoint:
        """Load the snapshot of a step.

        Raises:
            CheckpointError: it is damaged, or of another model or step than it should be.
            ValueError: there is none.
        """
        checkpoint = self._load(step)
        if checkpoint.config != self.config or checkpoint.tokenizer.to_bytes() != self.tokenizer_bytes:
            raise CheckpointError(
                f"{self.label}: step {step} has another configuration or tokenizer than step {self.steps[-1]}: give "
                f"the snapshots of one run"
            )
        return checkpoint

    def translator(self, step: int) -> Translator:
        """Return a translator with the snapshot of a step; the last few are kept in memory.

        Raises:
            CheckpointError, ValueError: as `checkpoint`.
        """
        with self._lock:
            if step not in self._kept:
                self._keep(step, self.checkpoint(step))
            self._kept.move_to_end(step)
            return self._kept[step]

    def __iter__(self) -> Iterator[tuple[int, Translator]]:
        """Yield each step with its translator, in order."""
        return ((step, self.translator(step)) for step in self.steps)

    def _keep(self, step: int, checkpoint: Checkpoint) -> None:
        model = checkpoint.model.to(best_device())
        self._kept[step] = Translator(model, checkpoint.tokenizer, checkpoint.training)
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)

    def _load(self, step: int) -> Checkpoint:
        if step not in self._names:
            raise ValueError(
                f"{self.label} has no snapshot of step {step}: it has those of {', '.join(map(str, self.steps))}"
            )
        with self._files.opened(self._names[step]) as path:
            checkpoint = load_checkpoint(path)
        own, runs = checkpoint.training.get("steps"), steps_of_runs(checkpoint.training)
        known = [steps for steps in runs if steps is not None]
        whole = sum(known) if len(known) == len(runs) else None
        if step not in (own, whole):
            before = f", {whole} with the runs before" if whole not in (own, None) else ""
            raise CheckpointError(
                f"{self.label}: {self._names[step]} says that it was trained for {own!r:.40} steps{before}, its name "
                f"says {step}"
            )
        return checkpoint

    def _read_log(self) -> tuple[LogLine, ...]:
        if LOG not in self._files.names:
            return ()
        with self._files.opened(LOG) as path:
            if path.stat().st_size > MAX_LOG_BYTES:
                raise CheckpointError(f"{self.label}: {LOG} has more than {MAX_LOG_BYTES} bytes")
            try:
                lines = parse_log(path.read_bytes(), LOG)
            except ValueError as error:
                raise CheckpointError(f"{self.label}: {error}") from error
        return tuple(
            {"kind": line["kind"], "step": line["step"], "nll": float(line["nll"])}
            for line in lines
            if line["kind"] != "sample" and isinstance(line.get("nll"), float) and math.isfinite(line["nll"])
        )


def open_history(source: str | Path) -> History:
    """Open the snapshots of a run; only the last one is loaded.

    Args:
        source: a run's folder, a folder or zip archive of snapshots, or a file of `pack_history`, which must stay where
            it is while the history is in use.

    Raises:
        CheckpointError: it has fewer than two snapshots, the last one cannot be used, or an archive is damaged.
        FileNotFoundError: there is no such file or folder.
    """
    path = path_of(source)
    if not path.exists():
        raise FileNotFoundError(f"there is no {path}: give a run's folder, or a file of `python -m train history`")
    if path.is_dir():
        return History(FolderFiles(path))
    if not path.is_file():
        raise CheckpointError(f"{path} is neither a file nor a folder: give a run's folder, or a zip archive")
    if not is_archive(path):
        if _is_cut_off(path):
            raise CheckpointError(f"{path.name} is a zip archive without its end: {ADVICE}")
        raise CheckpointError(
            f"{path.name} is not a history: give a run's folder, or a zip archive of its snapshots, as "
            f"`python -m train history` writes it"
        )
    return History(ArchiveFiles(path))


def _is_cut_off(path: Path) -> bool:
    """Whether a file begins as a zip archive but has no list of files at its end."""
    with reading(path), open(path, "rb") as file:
        return file.read(4) == b"PK\x03\x04" and not zipfile.is_zipfile(path)


def _snapshot_names(files: SnapshotFiles) -> dict[int, str]:
    """Return the names of the snapshots by step, in increasing order."""
    by_step: dict[int, str] = {}
    for name in files.names:
        if (parts := SNAPSHOT.fullmatch(name)) is not None:
            if int(parts[2]) in by_step:
                raise CheckpointError(f"{files.label} has two snapshots of step {int(parts[2])}: remove one")
            by_step[int(parts[2])] = name
    if not 2 <= len(by_step) <= MAX_SNAPSHOTS:
        raise CheckpointError(
            f"{files.label} has {len(by_step)} snapshots named as step-00001000.safetensors or, as `python -m train "
            f"history` packs them, step-00001000.safetensors{EIGHT_BITS}, expected 2 to {MAX_SNAPSHOTS}: `python -m "
            f"train fit --history 12` keeps some of a run"
        )
    return dict(sorted(by_step.items()))


# --- Packing into one file, small enough to ship --------------------------------------------------------------------


SUFFIX = ".zip"


def pack_history(source: str | Path, output: str | Path) -> History:
    """Write the snapshots of a run, rounded to 8 bits, and its thinned log to one `.zip` file, and open that.

    All but the first are stored as differences from the one before (`eight_bits`). An existing file is replaced;
    `source` is as for `open_history`.

    Raises:
        CheckpointError, FileNotFoundError: as `open_history`.
        ValueError: the output has another suffix.
        OSError: the output cannot be written.
    """
    path = Path(output)
    if path.suffix != SUFFIX:
        raise ValueError(f"{path} must end in {SUFFIX}: a packed history is one file")
    history = open_history(source)
    write_atomically(path, lambda temporary: _write_archive(history, temporary))
    return open_history(path)


def _write_archive(history: History, path: Path) -> None:
    before: tuple[str, RoundedSnapshot] | None = None
    with zipfile.ZipFile(path, "w") as archive:
        for step in history.steps:
            name, rounded = f"step-{step:08d}.safetensors", _rounded(history, step)
            if before is None:
                _add(archive, f"{name}{EIGHT_BITS}", rounded.to_bytes())
            else:
                previous, other = before
                _add(archive, f"{name}{DIFFERENCE}", rounded.difference(other, previous))
            before = name, rounded
        if history.log:
            _add(archive, LOG, format_log(thin_log(history.log)).encode())


def _rounded(history: History, step: int) -> RoundedSnapshot:
    checkpoint = history.checkpoint(step)
    with tempfile.TemporaryDirectory(prefix="headlight-") as folder:
        path = Path(folder) / "exact.safetensors"
        facts = {**checkpoint.training, "stored_as": "8 bits"}
        save_checkpoint(path, checkpoint.model, checkpoint.tokenizer, facts, torch.float32)
        return to_eight_bits(path)


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED, 9)
