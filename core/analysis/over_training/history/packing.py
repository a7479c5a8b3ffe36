"""The snapshots of a run in one file, small enough to ship.

They are rounded to 8 bits a weight, and all but the first are stored as differences from the one before
(`core.analysis.over_training.history.eight_bits`).
"""

import tempfile
import zipfile
from pathlib import Path

import torch

from core.analysis.over_training.history.eight_bits import RoundedSnapshot, to_eight_bits
from core.analysis.over_training.history.snapshot_files import DIFFERENCE, EIGHT_BITS, LOG
from core.analysis.over_training.history.snapshots import History, open_history
from core.files.file_writing import write_atomically
from core.files.runlog import format_log, thin_log
from core.formats.checkpoint import save_checkpoint

SUFFIX = ".zip"


def pack_history(source: str | Path, output: str | Path) -> History:
    """Write the snapshots of a run, rounded to 8 bits, and its thinned log to one `.zip` file, and open that.

    An existing file is replaced; `source` is as for `open_history`.

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
