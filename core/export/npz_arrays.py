"""Arrays of untrusted NPZ files."""

import zipfile
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from core.damaged_archives import DAMAGE

MAX_BYTES = 2**30  # of a file, unpacked


def npz_arrays(file: IO[bytes]) -> dict[str, NDArray[Any]]:
    """Unpack all arrays of a file. Nothing is unpickled, and the size is checked before.

    Raises:
        ValueError: it is no NPZ file, is damaged, or would unpack to more than `MAX_BYTES`.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            unpacked = sum(entry.file_size for entry in archive.infolist())
        if unpacked <= MAX_BYTES:
            file.seek(0)
            with np.load(file, allow_pickle=False) as arrays:
                return {name: arrays[name] for name in arrays.files}
    except DAMAGE as error:
        raise ValueError(f"it is no NPZ file of arrays, or damaged: {error}") from error
    raise ValueError(f"it would unpack to {unpacked} bytes, at most {MAX_BYTES} are read")
