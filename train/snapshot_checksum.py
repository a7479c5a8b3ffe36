"""Checksums beside the snapshots of a run, as a checkpoint with a changed byte may look sound.

`NAME.safetensors.sha256` is as `sha256sum` writes it. A file without one, such as a copy, is not checked.
"""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from core.files.file_writing import file_digest, reading, write_text
from core.formats.checkpoint import CheckpointError


def checksum_file(path: Path) -> Path:
    """Return the file with the checksum of a snapshot."""
    return path.with_name(f"{path.name}.sha256")


@contextmanager
def with_checksum(path: Path) -> Generator[None]:
    """Write a snapshot in the block, and its checksum after it; a kill in between leaves it without one."""
    checksum_file(path).unlink(missing_ok=True)
    yield
    write_text(checksum_file(path), f"{file_digest(path)}  {path.name}\n")


def check_checksum(path: Path) -> None:
    """Compare a snapshot with the checksum beside it, if there is one.

    Raises:
        CheckpointError: they differ.
    """
    recorded = checksum_file(path)
    if not recorded.is_file() or not path.is_file():
        return
    with reading(recorded):
        content = recorded.read_bytes()
    if content.split()[:1] != [file_digest(path).encode()]:
        raise CheckpointError(
            f"{path} is damaged: its checksum is not that of {recorded.name}; take another snapshot of the run, or "
            f"remove {recorded.name} if the file was changed on purpose"
        )
