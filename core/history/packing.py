"""The snapshots of a run in one file or one folder, thin enough to ship.

Of 16 bits of a trained weight, sign and significand are nearly random, and only the exponent compresses. bfloat16 has 9
such bits, float16 has 11: deflated and shuffled (see `core.history.snapshot_files`), a weight takes about 11 bits in
bfloat16 and 14 in float16. So all snapshots but the last are rounded to bfloat16, which changes weights by at most
0.4 %; the last one keeps float16, and equals the checkpoint that `python -m train average --last 1 --half` writes.
For large models all snapshots may take 8 bits a weight instead, and all but the first be stored as differences from
the one before (`core.history.eight_bits`).

A folder has one file for each snapshot: differences from the one before (`core.history.differences`), except for the
first and the last. It is for the history of a large model in a repository, whose host takes files up to some size only.
"""

import gzip
import secrets
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import torch

from core.checkpoint import save_checkpoint
from core.file_writing import write_atomically, writing
from core.history.differences import difference
from core.history.eight_bits import RoundedSnapshot, to_eight_bits
from core.history.snapshot_files import (
    COMPRESSED,
    COMPRESSED_DIFFERENCE,
    DIFFERENCE,
    EIGHT_BITS,
    LOG,
    SHUFFLED,
    shuffled,
)
from core.history.snapshots import History, open_history
from core.runlog import format_log, thin_log

FOLDER_SUFFIX = ".history"


def pack_history(source: str | Path, output: str | Path, eight_bits: bool = False) -> History:
    """Write the snapshots of a run, and its thinned log, to one file or a new folder.

    Args:
        source: as for `open_history`.
        output: a zip archive if it ends in `.zip`, which replaces an existing file; a folder if it ends in `.history`
            or has no suffix.
        eight_bits: round all snapshots to 8 bits a weight; for an archive.

    Returns:
        The history in the new file or folder.

    Raises:
        CheckpointError, FileNotFoundError: as `open_history`.
        ValueError: a weight is too large for float16, the output has another suffix, the folder exists, or 8 bits are
            requested for a folder.
        OSError: the output cannot be written.
    """
    path = Path(output)
    if path.suffix == ".zip":
        history = open_history(source)
        write_atomically(path, lambda temporary: _write_archive(history, temporary, eight_bits))
    else:
        if eight_bits:
            raise ValueError(f"{path} must end in .zip: snapshots in 8 bits are differences, and stay in one file")
        if path.suffix not in ("", FOLDER_SUFFIX):
            raise ValueError(f"{path} must end in .zip for one file, or in {FOLDER_SUFFIX} or no suffix for a folder")
        if path.exists():
            raise ValueError(f"{path} exists already: give a new folder, or a file that ends in .zip")
        _write_folder(open_history(source), path)
    return open_history(path)


def _write_archive(history: History, path: Path, eight_bits: bool) -> None:
    before: tuple[str, RoundedSnapshot] | None = None
    with zipfile.ZipFile(path, "w") as archive:
        for file in _checkpoints(history, eight_bits):
            if not eight_bits:
                _add(archive, f"{file.name}{SHUFFLED}", shuffled(file.read_bytes()))
                continue
            rounded = to_eight_bits(file)
            if before is None:
                _add(archive, f"{file.name}{EIGHT_BITS}", rounded.to_bytes())
            else:
                name, other = before
                _add(archive, f"{file.name}{DIFFERENCE}", rounded.difference(other, name))
            before = file.name, rounded
        if history.log:
            _add(archive, LOG, _log(history))


def _write_folder(history: History, path: Path) -> None:
    """Write a folder whole or not at all.

    It has a temporary name until it is complete.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    with writing(path):
        temporary.mkdir()
        try:
            last, before = f"step-{history.steps[-1]:08d}.safetensors", b""
            for file in _checkpoints(history, eight_bits=False):
                data = file.read_bytes()
                # The last one is a float16 among bfloat16, and is read first: whole.
                is_difference = bool(before) and file.name != last
                name = file.name + (COMPRESSED_DIFFERENCE if is_difference else COMPRESSED)
                stored = difference(data, before) if is_difference else data
                (temporary / name).write_bytes(gzip.compress(shuffled(stored), mtime=0))
                before = data
            if history.log:
                (temporary / LOG).write_bytes(_log(history))
            temporary.rename(path)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def _checkpoints(history: History, eight_bits: bool) -> Iterator[Path]:
    """Yield the file of one snapshot at a time, which exists until the next.

    Exact if it will be rounded to 8 bits, otherwise in half precision.
    """
    with tempfile.TemporaryDirectory(prefix="headlight-") as folder:
        for step in history.steps:
            dtype = torch.float16 if step == history.steps[-1] else torch.bfloat16
            stored_as = "8 bits" if eight_bits else str(dtype).removeprefix("torch.")
            found, file = history.checkpoint(step), Path(folder) / f"step-{step:08d}.safetensors"
            facts = {**found.training, "stored_as": stored_as}
            save_checkpoint(file, found.model, found.tokenizer, facts, torch.float32 if eight_bits else dtype)
            yield file
            file.unlink()


def _log(history: History) -> bytes:
    return format_log(thin_log(history.log)).encode()


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED, 9)
