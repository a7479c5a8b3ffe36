"""Token shards on disk, and padded batches of their pairs (5.1)."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from core.tokenizer import BOS_ID, EOS_ID, PAD_ID

MANIFEST = "manifest.json"
SIDES = ("source", "target")


class DataError(ValueError):
    """Unusable training data; the message says what was found and what to do."""


@dataclass(frozen=True)
class Batch:
    """Padded ids of sentence pairs, int64: source [B, S], target_in and target_out [B, T]."""

    source: Tensor  # pieces </s>
    target_in: Tensor  # <s> pieces
    target_out: Tensor  # pieces </s>: the decoder's labels
    num_tokens: int  # target tokens without padding

    def to(self, device: torch.device) -> "Batch":
        """Copy the batch to a device, asynchronously from pinned memory to CUDA."""
        source, target_in, target_out = (
            ids.to(device, non_blocking=device.type == "cuda") for ids in (self.source, self.target_in, self.target_out)
        )
        return Batch(source, target_in, target_out, self.num_tokens)

    def pin(self) -> "Batch":
        """Copy the batch to pinned memory."""
        return Batch(
            self.source.pin_memory(), self.target_in.pin_memory(), self.target_out.pin_memory(), self.num_tokens
        )


class TokenShards:
    """Memory-mapped token ids of a parallel text: `{source,target}.{tokens,offsets}.npy` in a folder.

    Raises:
        DataError: a file is missing or truncated, or the two sides differ in their numbers of sentences.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = folder = Path(folder)
        missing = [
            f"{side}.{part}.npy"
            for side in SIDES
            for part in ("tokens", "offsets")
            if not (folder / f"{side}.{part}.npy").is_file()
        ]
        if missing:
            raise DataError(f"{folder} has no {', '.join(missing)}: make token shards with `python -m train prepare`")
        try:
            self.tokens = [np.load(folder / f"{side}.tokens.npy", mmap_mode="r") for side in SIDES]
            self.offsets = [np.load(folder / f"{side}.offsets.npy", mmap_mode="r") for side in SIDES]
        except (ValueError, EOFError) as error:
            raise DataError(f"{folder} has a damaged file: {error}; prepare it again") from error
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

    def __len__(self) -> int:
        return len(self.offsets[0]) - 1

    def lengths(self) -> np.ndarray:
        """Return the numbers of source and target tokens, [pairs, 2], each with one special token."""
        return np.stack([np.diff(offsets) for offsets in self.offsets], axis=1) + 1

    def largest_id(self) -> int:
        """Return the largest token id of both sides."""
        return max(int(tokens.max(initial=0)) for tokens in self.tokens)

    def pair(self, index: int) -> tuple[list[int], list[int]]:
        """Return the ids of a pair, without special tokens."""
        source, target = (
            tokens[offsets[index] : offsets[index + 1]].tolist()
            for tokens, offsets in zip(self.tokens, self.offsets, strict=True)
        )
        return source, target

    def batch(self, indices: np.ndarray) -> Batch:
        """Return a padded batch of the pairs with these indices."""
        flat: list[np.ndarray] = []
        lengths: list[np.ndarray] = []
        for tokens, offsets in zip(self.tokens, self.offsets, strict=True):
            starts, count = offsets[indices], offsets[indices + 1] - offsets[indices]
            ends = np.cumsum(count)
            flat.append(tokens[np.arange(ends[-1]) + np.repeat(starts - (ends - count), count)])
            lengths.append(count)
        return _pad(flat, lengths)


def make_batch(pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> Batch:
    """Make a padded batch of pairs of ids without special tokens."""
    sides = list(zip(*pairs, strict=True))
    flat = [np.fromiter((token_id for ids in side for token_id in ids), dtype=np.int64) for side in sides]
    return _pad(flat, [np.array([len(ids) for ids in side]) for side in sides])


def _pad(flat: list[np.ndarray], lengths: list[np.ndarray]) -> Batch:
    """Pad the concatenated ids of each side into rows, and add special tokens."""
    rows: list[np.ndarray] = []
    for ids, count in zip(flat, lengths, strict=True):
        padded = np.full((len(count), count.max() + 1), PAD_ID, dtype=np.int64)
        padded[np.arange(padded.shape[1]) < count[:, None]] = ids
        rows.append(padded)
    source, target = rows
    target_in = np.roll(target, 1, axis=1)  # the last column is still all padding
    target_in[:, 0] = BOS_ID
    for padded, count in zip(rows, lengths, strict=True):
        padded[np.arange(len(count)), count] = EOS_ID
    ids = (torch.from_numpy(array) for array in (source, target_in, target))
    return Batch(*ids, num_tokens=int(lengths[1].sum()) + len(lengths[1]))


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest that `prepare` writes last.

    Raises:
        DataError: there is none, so `prepare` did not finish there, or it is damaged.
    """
    try:
        return json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise DataError(
            f"{folder} has no {MANIFEST}: run `python -m train prepare` there, or run it again if it did not finish"
        ) from error
    except ValueError as error:
        raise DataError(f"{folder}/{MANIFEST} is damaged ({error}): prepare it again") from error
