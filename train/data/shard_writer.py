"""Writer of token shards, which `TokenShards` reads."""

from collections.abc import Sequence
from itertools import chain
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from train.data.token_shards import ARRAYS, CHECKSUMS, SIDES, DataError, write_checksums

Ids = Sequence[int]


class _Array:
    """A .npy file of `count` rows of a shape, () for numbers, that can be appended to."""

    def __init__(self, path: Path, dtype: np.dtype, count: int, row: tuple[int, ...] = ()) -> None:
        self._dtype, self.count, self._row = dtype, count, row
        if count and not path.is_file():
            raise DataError(f"there is no {path} any more: remove {path.parent.parent} to begin again")
        self._file = path.open("r+b" if count else "w+b")
        self._write_header()  # its size is fixed: NumPy pads it so that the shape can grow
        end = self._file.seek(count * dtype.itemsize * prod(row), 1)
        if count and path.stat().st_size < end:
            raise DataError(f"{path} is cut off, it had {end} bytes: remove {path.parent.parent} to begin again")
        self._file.truncate()

    def append(self, values: np.ndarray) -> None:
        self._file.write(values.astype(self._dtype).tobytes())
        self.count += len(values)

    def flush(self) -> None:
        """Write the buffered values and a header with their number."""
        self._file.seek(0)
        self._write_header()
        self._file.seek(0, 2)
        self._file.flush()

    def close(self) -> None:
        self.flush()
        self._file.close()

    def _write_header(self) -> None:
        np.lib.format.write_array_header_1_0(
            self._file, {"descr": self._dtype.str, "fortran_order": False, "shape": (self.count, *self._row)}
        )


class ShardWriter:
    """Context manager that appends pairs, of text or an image's patches, to shards, and writes checksums at the end.

    It resumes the shards of an earlier writer from its `counts` of pairs, source tokens and target tokens.
    """

    def __init__(
        self, folder: Path, vocab_size: int, counts: Sequence[int] = (0, 0, 0), patch_pixels: int | None = None
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / CHECKSUMS).unlink(missing_ok=True)
        self._folder = folder
        ids = np.dtype(np.uint16 if vocab_size <= 2**16 else np.uint32), ()
        kinds = (np.dtype(np.uint8), (patch_pixels,)) if patch_pixels else ids, ids
        self.counts = list(counts)
        self._tokens = [
            _Array(folder / f"{side}.tokens.npy", dtype, count, row)
            for side, (dtype, row), count in zip(SIDES, kinds, counts[1:], strict=True)
        ]
        self._offsets = [
            _Array(folder / f"{side}.offsets.npy", np.dtype(np.int64), counts[0] + 1 if counts[0] else 0)
            for side in SIDES
        ]
        if not counts[0]:
            for offsets in self._offsets:
                offsets.append(np.zeros(1))

    def __enter__(self) -> "ShardWriter":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for part in (*self._tokens, *self._offsets):
            part.close()
        if kind is None:
            write_checksums(self._folder, ARRAYS)

    def append(self, source: Sequence[Ids] | Sequence[np.ndarray], target: Sequence[Ids]) -> None:
        """Append pairs of ids without special tokens; patches are arrays [S, P]."""
        for side, rows in enumerate((source, target)):
            lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
            self._offsets[side].append(self.counts[side + 1] + np.cumsum(lengths))
            self._tokens[side].append(_joined(rows, int(lengths.sum())))
            self.counts[side + 1] += int(lengths.sum())
        self.counts[0] += len(source)

    def flush(self) -> None:
        """Write all buffered values."""
        for part in (*self._tokens, *self._offsets):
            part.flush()


def _joined(rows: Sequence[Any], count: int) -> np.ndarray:
    """Return `count` ids or patches of some rows, one after the other."""
    if rows and isinstance(rows[0], np.ndarray):
        return np.concatenate(rows)
    return np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=count)
