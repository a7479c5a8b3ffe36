"""Token shards on disk, and batches of about equal length from them (5.1)."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from core.tokenizer import BOS_ID, EOS_ID, PAD_ID

Ids = Sequence[int] | np.ndarray
SIDES = ("source", "target")
POOL = 200_000  # pairs sorted by length together: enough that a batch's lengths hardly differ


class DataError(ValueError):
    """Training data that cannot be used; the message says what was found and what to do."""


@dataclass(frozen=True)
class Batch:
    """Padded ids of some sentence pairs: source [B, S], target_in and target_out [B, T], int64."""

    source: Tensor  # pieces </s>
    target_in: Tensor  # <s> pieces
    target_out: Tensor  # pieces </s>: what the decoder is to predict
    num_tokens: int  # target tokens without padding

    def to(self, device: torch.device) -> "Batch":
        moved = [tensor.to(device, non_blocking=True) for tensor in (self.source, self.target_in, self.target_out)]
        return Batch(*moved, self.num_tokens)


class TokenShards:
    """The token ids of a parallel text, memory-mapped: `{source,target}.{tokens,offsets}.npy` in one folder.

    Raises:
        DataError: a file is missing, or the two sides do not have the same number of sentences.
    """

    def __init__(self, folder: str | Path) -> None:
        folder = Path(folder)
        missing = [f"{side}.{part}.npy" for side in SIDES for part in ("tokens", "offsets") if not (folder / f"{side}.{part}.npy").is_file()]
        if missing:
            raise DataError(f"{folder} has no {', '.join(missing)}: make token shards with `python -m train prepare`")
        self.tokens = [np.load(folder / f"{side}.tokens.npy", mmap_mode="r") for side in SIDES]
        self.offsets = [np.load(folder / f"{side}.offsets.npy", mmap_mode="r") for side in SIDES]
        if len(self.offsets[0]) != len(self.offsets[1]):
            raise DataError(f"{folder} has {len(self.offsets[0]) - 1} source but {len(self.offsets[1]) - 1} target sentences: prepare it again")

    def __len__(self) -> int:
        return len(self.offsets[0]) - 1

    def lengths(self) -> np.ndarray:
        """[pairs, 2] tokens of source and target, each with its one special token."""
        return np.stack([np.diff(offsets) for offsets in self.offsets], axis=1) + 1

    def pair(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        """The ids of one pair, without special tokens."""
        source, target = (tokens[offsets[index] : offsets[index + 1]] for tokens, offsets in zip(self.tokens, self.offsets, strict=True))
        return source, target

    def batch(self, indices: np.ndarray) -> Batch:
        return make_batch([self.pair(int(index)) for index in indices])


def make_batch(pairs: Sequence[tuple[Ids, Ids]]) -> Batch:
    """Pad some pairs of ids, which carry no special tokens yet."""
    eos, bos = [EOS_ID], [BOS_ID]
    return Batch(
        source=_pad([np.concatenate((source, eos)) for source, _ in pairs]),
        target_in=_pad([np.concatenate((bos, target)) for _, target in pairs]),
        target_out=_pad([np.concatenate((target, eos)) for _, target in pairs]),
        num_tokens=sum(len(target) + 1 for _, target in pairs),
    )


def _pad(rows: list[np.ndarray]) -> Tensor:
    padded = np.full((len(rows), max(map(len, rows))), PAD_ID, dtype=np.int64)
    for row, ids in zip(padded, rows, strict=True):
        row[: len(ids)] = ids
    return torch.from_numpy(padded)


def write_shards(folder: Path, pairs: list[tuple[list[int], list[int]]], vocab_size: int) -> None:
    """Write `TokenShards` of these ids."""
    folder.mkdir(parents=True, exist_ok=True)
    dtype = np.uint16 if vocab_size <= 2**16 else np.uint32
    for side, ids in zip(SIDES, zip(*pairs, strict=True), strict=True):
        np.save(folder / f"{side}.offsets.npy", np.concatenate(([0], np.cumsum([len(row) for row in ids]))).astype(np.int64))
        np.save(folder / f"{side}.tokens.npy", np.concatenate([np.asarray(row, dtype=dtype) for row in ids]))


@dataclass
class Position:
    """Where in the data a run is: resumed from here, the batches go on as if they had never stopped."""

    epoch: int = 0
    batch: int = 0


class Batches:
    """Endless epochs of batches of at most `batch_tokens` source and `batch_tokens` target tokens, padding included.

    The order is a function of (seed, epoch) alone. Sentences longer than `max_length` tokens are left out.
    """

    def __init__(self, shards: TokenShards, batch_tokens: int, seed: int, max_length: int = 256, position: Position | None = None) -> None:
        self.shards, self.batch_tokens, self.seed = shards, batch_tokens, seed
        self.position = position or Position()
        self.lengths = shards.lengths()
        self.usable = np.flatnonzero(self.lengths.max(axis=1) <= min(max_length, batch_tokens))
        if not len(self.usable):
            raise DataError(f"no sentence pair of the {len(shards)} fits: the shortest is longer than {min(max_length, batch_tokens)} tokens")

    def epoch(self, epoch: int) -> list[np.ndarray]:
        """The indices of every batch of an epoch, in order."""
        random = np.random.default_rng((self.seed, epoch))
        order = random.permutation(self.usable)
        batches = []
        for start in range(0, len(order), POOL):
            pool = order[start : start + POOL]
            # Stable sort after the shuffle: pairs of equal lengths meet other pairs each epoch.
            pool = pool[np.lexsort((self.lengths[pool, 0], self.lengths[pool, 1]))]
            batches += cut(pool, self.lengths[pool].max(axis=1), self.batch_tokens)
        return [batches[index] for index in random.permutation(len(batches))]

    def __iter__(self) -> Iterator[Batch]:
        while True:
            plan = self.epoch(self.position.epoch)
            while self.position.batch < len(plan):
                indices = plan[self.position.batch]
                self.position.batch += 1
                yield self.shards.batch(indices)
            self.position = Position(epoch=self.position.epoch + 1)

    def padding(self, epoch: int = 0) -> float:
        """The share of an epoch's ids that are padding."""
        filled = real = 0
        for batch in self.epoch(epoch):
            lengths = self.lengths[batch]
            filled += len(batch) * int(lengths.max(axis=0).sum())
            real += int(lengths.sum())
        return 1 - real / filled


def cut(order: np.ndarray, lengths: np.ndarray, batch_tokens: int) -> list[np.ndarray]:
    """Split an order of pairs into batches of at most `batch_tokens` a side, padding included; a longer pair goes alone.

    Args:
        order: [N] indices of pairs.
        lengths: [N] the longer side of each, in that order.
    """
    batches, start, longest = [], 0, 0
    for end, length in enumerate(lengths):
        longest = max(longest, length)
        if (end - start + 1) * longest > batch_tokens and end > start:
            batches.append(order[start:end])
            start, longest = end, length
    return [*batches, order[start:]]


def read_manifest(folder: str | Path) -> dict[str, object]:
    """What `prepare` wrote down of a folder."""
    return json.loads((Path(folder) / "manifest.json").read_text(encoding="utf-8"))
