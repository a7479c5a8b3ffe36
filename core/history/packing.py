"""The snapshots of a run in one file, thin enough to ship.

Of 16 bits of a trained weight, sign and significand are nearly random, and only the exponent compresses. bfloat16 has 9
such bits, float16 has 11: deflated and shuffled (see `core.history.snapshots`), a weight takes about 11 bits in
bfloat16 and 14 in float16. So all snapshots but the last are rounded to bfloat16, which changes weights by at most
0.4 %; the last one keeps float16, and equals the checkpoint that `python -m train average --last 1 --half` writes.
For large models all snapshots may take 8 bits a weight instead, and all but the first be stored as differences from
the one before (`core.history.eight_bits`).
"""

import tempfile
import zipfile
from pathlib import Path

import torch

from core.checkpoint import save_checkpoint
from core.file_writing import write_atomically
from core.history.eight_bits import RoundedSnapshot, to_eight_bits
from core.history.snapshots import DIFFERENCE, EIGHT_BITS, LOG, SHUFFLED, History, open_history, shuffled
from core.runlog import format_log, thin_log


def pack_history(source: str | Path, output: str | Path, eight_bits: bool = False) -> History:
    """Write the snapshots of a run, and its thinned log, to one file.

    Args:
        source: as for `open_history`.
        output: a zip archive; an existing file is replaced.
        eight_bits: round all snapshots to 8 bits a weight.

    Returns:
        The history in the new file.

    Raises:
        CheckpointError, FileNotFoundError: as `open_history`.
        ValueError: a weight is too large for float16.
        OSError: the file cannot be written.
    """
    history, path = open_history(source), Path(output)
    write_atomically(path, lambda temporary: _write(history, temporary, eight_bits))
    return open_history(path)


def _write(history: History, path: Path, eight_bits: bool) -> None:
    with zipfile.ZipFile(path, "w") as archive, tempfile.TemporaryDirectory(prefix="headlight-") as folder:
        before: tuple[str, RoundedSnapshot] | None = None
        for step in history.steps:
            dtype = torch.float16 if step == history.steps[-1] else torch.bfloat16
            stored_as = "8 bits" if eight_bits else str(dtype).removeprefix("torch.")
            found, file = history.checkpoint(step), Path(folder) / f"step-{step:08d}.safetensors"
            facts = {**found.training, "stored_as": stored_as}
            save_checkpoint(file, found.model, found.tokenizer, facts, torch.float32 if eight_bits else dtype)
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
            _add(archive, LOG, format_log(thin_log(history.log)).encode())


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED, 9)
