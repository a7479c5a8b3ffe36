"""Untrusted arrays in NumPy's `.npz`, whose declared shapes are compared with the number of bytes."""

import io
import math
import zipfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from numpy.lib import format as npy
from torch import Tensor

from core.files.budget import MAX_ARRAYS
from core.files.damaged_archives import DAMAGE
from core.formats.checkpoint import ADVICE, CheckpointError
from core.formats.source_files import archive_errors
from core.formats.tensor_archives import check_archive
from core.formats.weights import Weights

MAX_TEXT = 2**20  # bytes of an array that is a text
HEADER_BYTES = 4096  # at most, of an array


@contextmanager
def open_npz(path: Path, file_name: str, text_name: str) -> Generator[tuple[Weights, str]]:
    """Open a file of float32 arrays and one array of bytes, a text of a given name.

    Raises:
        CheckpointError: it is not such a file, is damaged or compressed, or has other arrays.
    """
    check_archive(path, file_name)  # so it can be opened
    with zipfile.ZipFile(path) as archive:
        with archive_errors(file_name):
            entries = {entry.filename.removesuffix(".npy"): entry for entry in archive.infolist()}
            if len(entries) < len(archive.infolist()) or len(entries) > MAX_ARRAYS:
                raise CheckpointError(f"{file_name} has arrays of the same name, or more than {MAX_ARRAYS}")
            if text_name not in entries or entries[text_name].file_size > MAX_TEXT + HEADER_BYTES:
                raise CheckpointError(f"{file_name} has no array {text_name!r} of at most {MAX_TEXT} bytes")
            shapes = {
                name: _header(archive, entry, file_name, np.float32)[0]
                for name, entry in entries.items()
                if name != text_name
            }
            _, start = _header(archive, entries[text_name], file_name, None)
            text = archive.read(entries[text_name])[start:].rstrip(b"\0").decode()

        def read(name: str) -> Tensor:
            with archive_errors(file_name):
                data = bytearray(archive.read(entries[name]))
            if len(data) != entries[name].file_size:
                raise CheckpointError(f"{file_name} is cut off in {name!r:.80}: {ADVICE}")
            start = len(data) - 4 * math.prod(shapes[name])
            return torch.frombuffer(data, dtype=torch.float32, offset=start).view(shapes[name])

        yield Weights(file_name, shapes, dict.fromkeys(shapes, torch.float32), read), text


def _header(
    archive: zipfile.ZipFile, entry: zipfile.ZipInfo, file_name: str, dtype: type[np.float32] | None
) -> tuple[tuple[int, ...], int]:
    """Shape of an array of this type, or of bytes, and the offset of its elements."""
    try:
        with archive.open(entry) as file:
            start = io.BytesIO(file.read(HEADER_BYTES))
        version = npy.read_magic(start)
        if version != (1, 0):
            raise ValueError(f"version {version}")
        shape, in_columns, stored_type = npy.read_array_header_1_0(start)
    except DAMAGE as error:
        raise CheckpointError(f"{file_name}: {entry.filename!r:.80} is not an array: {error}") from error
    fits = math.prod(shape) * stored_type.itemsize + start.tell() == entry.file_size and all(
        size >= 0 for size in shape
    )
    if not fits or in_columns or (stored_type.itemsize != 1 if dtype is None else stored_type != dtype):
        raise CheckpointError(
            f"{file_name}: {entry.filename!r:.80} has type {stored_type} and shape {list(shape)}, in {entry.file_size} "
            f"bytes: expected rows of {'bytes' if dtype is None else 'float32'}, as Marian writes them"
        )
    return shape, start.tell()
