"""Token shards on disk, with checksums, and padded batches of their pairs (5.1)."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from core.files.damaged_archives import DAMAGE
from core.files.file_writing import file_digest, write_text
from core.files.strict_json import json_text, read_json
from core.model import PAD_PIXEL
from core.text.tokenizer import BOS_ID, EOS_ID, PAD_ID

MANIFEST, CHECKSUMS = "manifest.json", "checksums.json"
SIDES = ("source", "target")
Side = tuple[np.ndarray, np.ndarray]  # tokens of some sentences, one after the other, and the number of each
ARRAYS = tuple(f"{side}.{part}.npy" for side in SIDES for part in ("tokens", "offsets"))


class DataError(ValueError):
    """Unusable training data; the message says what was found and what to do."""


@dataclass(frozen=True)
class Tensors:
    """A batch whose tensors are moved together."""

    def to(self, device: torch.device) -> Self:
        """Copy the batch to a device, asynchronously from pinned memory to CUDA."""
        return self._with(lambda tensor: tensor.to(device, non_blocking=device.type == "cuda"))

    def pin(self) -> Self:
        """Copy the batch to pinned memory."""
        return self._with(Tensor.pin_memory)

    def _with(self, moved: Callable[[Tensor], Tensor]) -> Self:
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(self, **{name: moved(value) for name, value in named.items() if isinstance(value, Tensor)})


@dataclass(frozen=True)
class Batch(Tensors):
    """Padded ids of sentence pairs, int64: source [B, S], target_in and target_out [B, T].

    Image patches instead of source ids are float32 [B, S, P], see `Transformer.forward`.
    """

    source: Tensor  # pieces </s>, or patches
    target_in: Tensor  # <s> pieces
    target_out: Tensor  # pieces </s>: the decoder's labels
    num_tokens: int  # target tokens without padding
    by_rule: Tensor | None = None  # [B] boolean: pairs that `train.data.synthetic_pairs` made


class TokenShards:
    """Memory-mapped token ids of a parallel text, `{source,target}.{tokens,offsets}.npy` in a folder.

    The source may be image patches, with a row of pixels for each.

    Raises:
        DataError: a file is missing or damaged, by its checksum or its contents, or the two sides differ in their
            numbers of sentences.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = folder = Path(folder)
        missing = [name for name in ARRAYS if not (folder / name).is_file()]
        if missing:
            raise DataError(f"{folder} has no {', '.join(missing)}: make token shards with `python -m train prepare`")
        verify_checksums(folder)
        arrays = [_array(folder / name) for name in ARRAYS]
        self.tokens, self.offsets = arrays[::2], arrays[1::2]
        if len(self.offsets[0]) != len(self.offsets[1]):
            raise DataError(
                f"{folder} has {len(self.offsets[0]) - 1} source but {len(self.offsets[1]) - 1} target sentences: "
                f"prepare it again"
            )
        for side, tokens, offsets in zip(SIDES, self.tokens, self.offsets, strict=True):
            if not len(offsets) or offsets[-1] != len(tokens):
                raise DataError(
                    f"{folder}/{side}.tokens.npy has {len(tokens)} tokens, not as many as its offsets give: prepare "
                    f"it again"
                )
            if offsets[0] or (np.diff(offsets) < 0).any():
                raise DataError(
                    f"{folder}/{side}.offsets.npy is damaged: its numbers do not rise from 0; prepare it again"
                )

    def __len__(self) -> int:
        return len(self.offsets[0]) - 1

    def lengths(self) -> np.ndarray:
        """Return the numbers of source and target tokens, [pairs, 2], with one special token each but for patches."""
        special = [int(tokens.ndim == 1) for tokens in self.tokens]
        return np.stack([np.diff(offsets) for offsets in self.offsets], axis=1) + special

    def largest_id(self) -> int:
        """Return the largest token id of both sides."""
        return max(int(tokens.max(initial=0)) for tokens in self.tokens if tokens.ndim == 1)

    @property
    def patch_pixels(self) -> int | None:
        """Pixels of a source patch; None if the source is text."""
        return self.tokens[0].shape[1] if self.tokens[0].ndim == 2 else None

    def pair(self, index: int) -> tuple[list[int], list[int]]:
        """Return the ids of a pair, without special tokens; of a source of patches, none."""
        source, target = (
            tokens[offsets[index] : offsets[index + 1]].tolist() if tokens.ndim == 1 else []
            for tokens, offsets in zip(self.tokens, self.offsets, strict=True)
        )
        return source, target

    def batch(self, indices: np.ndarray) -> Batch:
        """Return a padded batch of the pairs with these indices."""
        return make_batch_of(*(self.side(side, indices) for side in range(len(SIDES))))

    def side(self, side: int, indices: np.ndarray) -> Side:
        """Return the tokens of one side of some pairs, one after the other, and the number of tokens of each pair."""
        tokens, offsets = self.tokens[side], self.offsets[side]
        starts, count = offsets[indices], offsets[indices + 1] - offsets[indices]
        ends = np.cumsum(count)
        return tokens[np.arange(ends[-1]) + np.repeat(starts - (ends - count), count)], count


def make_batch(pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> Batch:
    """Make a padded batch of pairs of ids without special tokens."""
    sides = list(zip(*pairs, strict=True))
    flat = [np.fromiter((token_id for ids in side for token_id in ids), dtype=np.int64) for side in sides]
    lengths = [np.array([len(ids) for ids in side]) for side in sides]
    return make_batch_of(*zip(flat, lengths, strict=True))


def make_batch_of(source: Side, target: Side) -> Batch:
    """Make a padded batch of both sides, each given as its tokens one after the other and the number of each row.

    A source of ids [N] ends its rows with `</s>`. One of patches [N, P], with pixels from 0 to 255, has no special
    tokens and becomes [B, S, P] from 0 to 1.
    """
    tokens, count = source
    if tokens.ndim == 1:
        padded = _with_end(_padded(tokens, count, PAD_ID, np.dtype(np.int64), 1), count)
    else:
        padded = _padded(tokens / np.float32(255), count, PAD_PIXEL, np.dtype(np.float32), 0)
    ids, count = target
    labels = _padded(ids, count, PAD_ID, np.dtype(np.int64), 1)
    target_in = np.roll(labels, 1, axis=1)  # the last column is still all padding
    target_in[:, 0] = BOS_ID
    rows = (torch.from_numpy(array) for array in (padded, target_in, _with_end(labels, count)))
    return Batch(*rows, num_tokens=int(count.sum()) + len(count))


def _padded(flat: np.ndarray, count: np.ndarray, padding: float, dtype: np.dtype, extra: int) -> np.ndarray:
    """Pad concatenated rows: [N, ...] -> [B, longest + extra, ...]."""
    rows = np.full((len(count), count.max() + extra, *flat.shape[1:]), padding, dtype=dtype)
    rows[np.arange(rows.shape[1]) < count[:, None]] = flat
    return rows


def _with_end(rows: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Put `</s>` behind each row, in place."""
    rows[np.arange(len(count)), count] = EOS_ID
    return rows


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest that `prepare` writes last.

    Raises:
        DataError: there is none, so `prepare` did not finish there, or it is damaged.
    """
    try:
        manifest = read_json(folder / MANIFEST)
        if type(vocab_size := manifest.get("vocab_size")) is not int:
            raise ValueError(f"{folder / MANIFEST} is damaged: vocab_size is {vocab_size!r:.60}, not a whole number")
        return manifest
    except FileNotFoundError as error:
        raise DataError(
            f"{folder} has no {MANIFEST}: run `python -m train prepare` there, or run it again if it did not finish"
        ) from error
    except ValueError as error:
        raise DataError(f"{error}; prepare it again") from error


def write_checksums(folder: Path, names: Sequence[str], later: Mapping[str, bytes] | None = None) -> None:
    """Write the SHA-256 of files of a folder, and of contents that are written later, into its checksums.json."""
    digests = {name: file_digest(folder / name) for name in names}
    digests |= {name: hashlib.sha256(content).hexdigest() for name, content in (later or {}).items()}
    write_text(folder / CHECKSUMS, json_text(digests, indent=2))


def verify_checksums(folder: Path) -> None:
    """Compare the files of a folder with its checksums.json; a folder prepared by a version without them is accepted.

    Raises:
        DataError: a file is missing, or has another checksum.
    """
    try:
        checksums = read_json(folder / CHECKSUMS)
    except FileNotFoundError:
        return
    except ValueError as error:
        raise DataError(f"{error}; prepare it again") from error
    for name, expected in checksums.items():
        path = folder / name
        if not path.is_file():
            raise DataError(f"{folder} has no {name}: prepare it again")
        if file_digest(path) != expected:
            raise DataError(f"{path} is damaged: its checksum is not that of {CHECKSUMS}; prepare it again")


def _array(path: Path) -> np.ndarray:
    """Map an array of whole numbers, rows of pixels in the case of patches."""
    try:
        array = np.load(path, mmap_mode="r")
        dimensions = (1, 2) if path.name == ARRAYS[0] else (1,)
        if array.dtype.kind not in "iu" or array.ndim not in dimensions:
            raise ValueError(f"{array.dtype} {list(array.shape)}, expected whole numbers")
    except DAMAGE as error:
        raise DataError(f"{path} is damaged: {error}; prepare it again") from error
    return array
