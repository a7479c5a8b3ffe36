"""Archives of tensors, of PyTorch or NumPy, checked before anything in them is read."""

import io
import zipfile
from pathlib import Path

from core.files.budget import MAX_PICKLE_BYTES
from core.formats.checkpoint import CheckpointError
from core.formats.source_files import archive_errors

END_BYTES = 56 + 20 + 22  # of an archive: the end of a large one, the place of that, and the end of every archive


def check_archive(path: Path, file_name: str) -> None:
    """Check that an archive of tensors is uncompressed, so that nothing in it unpacks to more."""
    with archive_errors(file_name), zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        if archive.start_dir != _declared_directory(path):
            raise CheckpointError(
                f"{file_name}: its directory is not where its end says, so that two programs could read two archives "
                f"in it: save it again"
            )
    if any("/code/" in entry.filename for entry in entries):
        raise CheckpointError(
            f"{file_name} is TorchScript, code with its parameters: save these alone, torch.save(torch.jit.load("
            f"FILE).state_dict(), OTHER)"
        )
    size = path.stat().st_size
    for entry in entries:
        if entry.compress_type != zipfile.ZIP_STORED or entry.file_size > size:
            raise CheckpointError(
                f"{file_name}: {entry.filename!r:.60} is compressed or larger than the file, expected tensors "
                f"as they are in memory: save it again"
            )
        if is_pickle(entry) and entry.file_size > MAX_PICKLE_BYTES:
            raise CheckpointError(
                f"{file_name}: {entry.filename!r:.60} has {entry.file_size} bytes, at most {MAX_PICKLE_BYTES} are read"
            )


def _declared_directory(path: Path) -> int:
    """Offset of the directory of an archive as its end declares it.

    PyTorch reads it there; `zipfile` looks just before the end.
    """
    with path.open("rb") as file:
        file.seek(-min(END_BYTES, path.stat().st_size), io.SEEK_END)
        end = file.read()
    if end[56:60] == b"PK\6\7":  # of a large one: its end is right before
        is_there = end[:4] == b"PK\6\6" and int.from_bytes(end[64:72], "little") == path.stat().st_size - END_BYTES
        return int.from_bytes(end[48:56], "little") if is_there else -1
    return int.from_bytes(end[-6:-2], "little") if end[-22:-18] == b"PK\5\6" else -1


def is_pickle(entry: zipfile.ZipInfo) -> bool:
    """Whether PyTorch, which ignores the case of names, might read an entry as a pickle."""
    return entry.orig_filename.lower().endswith(".pkl")
