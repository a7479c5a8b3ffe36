"""Arrays of untrusted NPZ files."""

import io
import math
import sys
import zipfile
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from core.files.budget import MAX_UNPACKED, MIB, most_unpacked
from core.files.damaged_archives import DAMAGE

HEADER_BYTES = 64 * 2**10  # at most, of an array: NumPy reads no longer ones


def npz_arrays(file: IO[bytes], max_bytes: int | None = None) -> dict[str, NDArray[Any]]:
    """Unpack all arrays of a file, without unpickling, and checking sizes before memory is allocated.

    Raises:
        ValueError: it is not an NPZ file, is damaged, or would unpack to more than `max_bytes`, by default
            `MAX_UNPACKED`, or to far more than it has.
    """
    packed = file.seek(0, io.SEEK_END)
    most = min(MAX_UNPACKED if max_bytes is None else max_bytes, most_unpacked(packed, packed))
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
    raise ValueError(f"it has {packed} bytes and would unpack to {unpacked}, at most {most} are read")


def _array(archive: zipfile.ZipFile, name: str, entry: zipfile.ZipInfo) -> NDArray[Any]:
    """An array whose type and shape agree with its bytes."""
    data, length = bytearray(entry.file_size), 0
    with archive.open(entry) as file:  # in blocks, as a single `read` would have the array in memory twice
        while block := file.read(MIB):  # the declared size may be a lie: zipfile stops there, or the file before
            data[length : length + len(block)] = block
            length += len(block)
    if length < len(data):
        raise ValueError(f"the array {name!r:.60} has {length} bytes, expected {len(data)}")
    start = io.BytesIO(data[:HEADER_BYTES])
    if (version := npy.read_magic(start)) != (1, 0):
        raise ValueError(f"the array {name!r:.60} is of version {version}, expected (1, 0)")
    shape, in_columns, dtype = npy.read_array_header_1_0(start)
    if dtype.hasobject or start.tell() + math.prod(shape) * dtype.itemsize != len(data):
        raise ValueError(f"the array {name!r:.60} has type {dtype} and shape {list(shape)!s:.60}, in {len(data)} bytes")
    array = np.ndarray(shape, dtype, data, start.tell(), order="F" if in_columns else "C")
    check_characters(name, array)
    return array


def check_characters(name: str, array: NDArray[Any]) -> None:
    """Check the characters of an array of texts, as NumPy does not.

    Raises:
        ValueError: one is beyond U+10FFFF.
    """
    if array.dtype.kind == "U" and array.nbytes:
        points = np.ascontiguousarray(array).ravel().view(np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
        if (largest := int(points.max())) > sys.maxunicode:
            raise ValueError(f"the array {name!r:.60} has the character {largest:#x}, the largest one is U+10FFFF")
