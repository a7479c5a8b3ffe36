"""Arrays of untrusted NPZ files."""

import io
import math
import sys
import zipfile
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from core.damaged_archives import DAMAGE

MAX_BYTES = 2**30  # of a file, unpacked


def npz_arrays(file: IO[bytes], max_bytes: int | None = None) -> dict[str, NDArray[Any]]:
    """Unpack all arrays of a file.

    Nothing is unpickled, and sizes are checked before memory is allocated.

    Args:
        max_bytes: of the file, unpacked; `MAX_BYTES` by default.

    Raises:
        ValueError: it is not an NPZ file, is damaged, or would unpack to more bytes.
    """
    most = MAX_BYTES if max_bytes is None else max_bytes
    try:
        with zipfile.ZipFile(file) as archive:
            entries = {entry.filename.removesuffix(".npy"): entry for entry in archive.infolist()}
            if len(entries) < len(archive.infolist()):
                raise ValueError("two arrays have the same name")
            unpacked = sum(entry.file_size for entry in entries.values())
            if unpacked <= most:
                return {name: _array(archive, name, entry) for name, entry in entries.items()}
    except DAMAGE as error:
        raise ValueError(f"it is not an NPZ file of arrays, or is damaged: {error}") from error
    raise ValueError(f"it would unpack to {unpacked} bytes, at most {most} are read")


def _array(archive: zipfile.ZipFile, name: str, entry: zipfile.ZipInfo) -> NDArray[Any]:
    """An array whose type and shape agree with its bytes."""
    with archive.open(entry) as file:
        data = bytearray(file.read(entry.file_size + 1))  # the declared size may be a lie
    start = io.BytesIO(data)
    if (version := npy.read_magic(start)) != (1, 0):
        raise ValueError(f"the array {name!r:.60} is of version {version}, expected (1, 0)")
    shape, in_columns, dtype = npy.read_array_header_1_0(start)
    if dtype.hasobject or start.tell() + math.prod(shape) * dtype.itemsize != len(data):
        raise ValueError(f"the array {name!r:.60} has type {dtype} and shape {list(shape)!s:.60}, in {len(data)} bytes")
    array = np.ndarray(shape, dtype, data, start.tell(), order="F" if in_columns else "C")
    check_characters(name, array)
    return array


def check_characters(name: str, array: NDArray[Any]) -> None:
    """Check the characters of an array of texts, which NumPy does not.

    Args:
        name: of the array, for messages.

    Raises:
        ValueError: one is beyond U+10FFFF.
    """
    if array.dtype.kind == "U" and array.nbytes:
        points = np.ascontiguousarray(array).ravel().view(np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
        if (largest := int(points.max())) > sys.maxunicode:
            raise ValueError(f"the array {name!r:.60} has the character {largest:#x}, the largest one is U+10FFFF")
