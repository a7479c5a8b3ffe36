"""Token shards on disk, and batches of about equal length from them (5.1)."""

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from core.tokenizer import BOS_ID, EOS_ID, PAD_ID

MANIFEST = "manifest.json"
SIDES = ("source", "target")
Bucketing = Literal["longest", "target"]
POOLS: dict[Bucketing, int] = {"longest": 2_000_000, "target": 200_000}  # pairs sorted by length together


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
        """The batch on a device; a GPU copies it while the processor goes on, where its memory is pinned."""
        source, target_in, target_out = (ids.to(device, non_blocking=device.type == "cuda") for ids in (self.source, self.target_in, self.target_out))
        return Batch(source, target_in, target_out, self.num_tokens)

    def pin(self) -> "Batch":
        """The batch in memory that a GPU can fetch by itself."""
        return Batch(self.source.pin_memory(), self.target_in.pin_memory(), self.target_out.pin_memory(), self.num_tokens)


class TokenShards:
    """The token ids of a parallel text, memory-mapped: `{source,target}.{tokens,offsets}.npy` in one folder.

    Raises:
        DataError: a file is missing or cut short, or the two sides do not have the same number of sentences.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = folder = Path(folder)
        missing = [f"{side}.{part}.npy" for side in SIDES for part in ("tokens", "offsets") if not (folder / f"{side}.{part}.npy").is_file()]
        if missing:
            raise DataError(f"{folder} has no {', '.join(missing)}: make token shards with `python -m train prepare`")
        try:
            self.tokens = [np.load(folder / f"{side}.tokens.npy", mmap_mode="r") for side in SIDES]
            self.offsets = [np.load(folder / f"{side}.offsets.npy", mmap_mode="r") for side in SIDES]
        except (ValueError, EOFError) as error:
            raise DataError(f"{folder} has a damaged file: {error}; prepare it again") from error
        if len(self.offsets[0]) != len(self.offsets[1]):
            raise DataError(f"{folder} has {len(self.offsets[0]) - 1} source but {len(self.offsets[1]) - 1} target sentences: prepare it again")
        for side, tokens, offsets in zip(SIDES, self.tokens, self.offsets, strict=True):
            if not len(offsets) or offsets[-1] != len(tokens):
                raise DataError(f"{folder}/{side}.tokens.npy has {len(tokens)} tokens, not those that its offsets count: prepare it again")

    def __len__(self) -> int:
        return len(self.offsets[0]) - 1

    def lengths(self) -> np.ndarray:
        """[pairs, 2] tokens of source and target, each with its one special token."""
        return np.stack([np.diff(offsets) for offsets in self.offsets], axis=1) + 1

    def largest_id(self) -> int:
        """The largest token id of both sides."""
        return max(int(tokens.max(initial=0)) for tokens in self.tokens)

    def pair(self, index: int) -> tuple[list[int], list[int]]:
        """The ids of one pair, without special tokens."""
        source, target = (tokens[offsets[index] : offsets[index + 1]].tolist() for tokens, offsets in zip(self.tokens, self.offsets, strict=True))
        return source, target

    def batch(self, indices: np.ndarray) -> Batch:
        """The pairs of these indices, padded."""
        flat: list[np.ndarray] = []
        lengths: list[np.ndarray] = []
        for tokens, offsets in zip(self.tokens, self.offsets, strict=True):
            starts, count = offsets[indices], offsets[indices + 1] - offsets[indices]
            ends = np.cumsum(count)
            flat.append(tokens[np.arange(ends[-1]) + np.repeat(starts - (ends - count), count)])
            lengths.append(count)
        return _pad(flat, lengths)


def make_batch(pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> Batch:
    """Pad some pairs of ids, which carry no special tokens yet."""
    sides = list(zip(*pairs, strict=True))
    flat = [np.fromiter((token_id for ids in side for token_id in ids), dtype=np.int64) for side in sides]
    return _pad(flat, [np.array([len(ids) for ids in side]) for side in sides])


def _pad(flat: list[np.ndarray], lengths: list[np.ndarray]) -> Batch:
    """Lay the ids of both sides, one sentence after the other, into rows with their special tokens."""
    rows: list[np.ndarray] = []
    for ids, count in zip(flat, lengths, strict=True):
        padded = np.full((len(count), count.max() + 1), PAD_ID, dtype=np.int64)
        padded[np.arange(padded.shape[1]) < count[:, None]] = ids
        rows.append(padded)
    source, target = rows
    target_in = np.roll(target, 1, axis=1)  # the last column is all padding still
    target_in[:, 0] = BOS_ID
    for padded, count in zip(rows, lengths, strict=True):
        padded[np.arange(len(count)), count] = EOS_ID
    ids = (torch.from_numpy(array) for array in (source, target_in, target))
    return Batch(*ids, num_tokens=int(lengths[1].sum()) + len(lengths[1]))


@dataclass(frozen=True)
class Position:
    """Where in the data a run is: resumed from here, the batches go on as if they had never stopped."""

    epoch: int = 0
    batch: int = 0


@dataclass(frozen=True)
class Group:
    """The batches of one optimizer step."""

    batches: list[Batch]  # those of this process
    numbers: range  # which of the step's batches, over all processes, they are
    num_tokens: int  # target tokens of all processes' batches
    start: Position
    end: Position


class Batches:
    """Endless epochs of batches of at most `batch_tokens` source and `batch_tokens` target tokens, padding included.

    The order is a function of (seed, epoch) alone. Sentences longer than `max_length` tokens are left out.

    Args:
        bucketing: what pairs are sorted by before they are cut into batches. `longest`: the longer side, then how much
            longer it is, which wastes least on padding; `target`: the target, then the source.
    """

    def __init__(self, shards: TokenShards, batch_tokens: int, seed: int, max_length: int = 256, bucketing: Bucketing = "longest") -> None:
        self.shards, self.batch_tokens, self.seed = shards, batch_tokens, seed
        self.bucketing: Bucketing = bucketing
        self.lengths = shards.lengths()
        self.usable = np.flatnonzero(self.lengths.max(axis=1) <= min(max_length, batch_tokens))
        if not len(self.usable):
            raise DataError(f"no sentence pair of the {len(shards)} fits: the shortest is longer than {min(max_length, batch_tokens)} tokens")

    def epoch(self, epoch: int) -> list[np.ndarray]:
        """The indices of every batch of an epoch, in order."""
        random = np.random.default_rng((self.seed, epoch))
        order = random.permutation(self.usable)
        batches: list[np.ndarray] = []
        pool_size = POOLS[self.bucketing]
        for start in range(0, len(order), pool_size):
            pool = order[start : start + pool_size]
            pool = pool[self._sort(*self.lengths[pool].T)]
            batches += cut(pool, self.lengths[pool].max(axis=1), self.batch_tokens)
        return [batches[index] for index in random.permutation(len(batches))]

    def _sort(self, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """The order of pairs by their lengths; stable, so that after a shuffle pairs of equal lengths meet other pairs."""
        if self.bucketing == "target":
            return np.lexsort((source, target))
        longest = np.maximum(source, target)
        # To and fro, so that the difference does not jump where the longer side grows by one.
        return np.lexsort(((source - target) * (1 - 2 * (longest % 2)), longest))

    def groups(self, position: Position, accumulate: int = 1, rank: int = 0, num_ranks: int = 1) -> Iterator[Group]:
        """What the steps from `position` on train on: `accumulate` batches for each of `num_ranks` processes."""
        stream = self._from(position)
        while True:
            parts = [next(stream) for _ in range(accumulate * num_ranks)]
            yield Group(
                batches=[self.shards.batch(indices) for indices, _ in parts[rank::num_ranks]],
                numbers=range(len(parts))[rank::num_ranks],
                num_tokens=sum(int(self.lengths[indices, 1].sum()) for indices, _ in parts),
                start=position,
                end=parts[-1][1],
            )
            position = parts[-1][1]

    def _from(self, position: Position) -> Iterator[tuple[np.ndarray, Position]]:
        """Every batch's indices, and the position behind it."""
        first = position.batch
        for epoch in itertools.count(position.epoch):
            for number, indices in enumerate(self.epoch(epoch)[first:], first + 1):
                yield indices, Position(epoch, number)
            first = 0

    def indices(self, position: Position, count: int) -> np.ndarray:
        """The pairs of the `count` batches from a position on."""
        return np.concatenate([indices for indices, _ in itertools.islice(self._from(position), count)])

    def padding(self, plan: Sequence[np.ndarray]) -> float:
        """The share of the ids of an epoch's batches that are padding."""
        filled = real = 0
        for indices in plan:
            lengths = self.lengths[indices]
            filled += len(indices) * int(lengths.max(axis=0).sum())
            real += int(lengths.sum())
        return 1 - real / filled


def cut(order: np.ndarray, lengths: np.ndarray, batch_tokens: int) -> list[np.ndarray]:
    """Split an order of pairs into batches of at most `batch_tokens` a side, padding included; a longer pair goes alone.

    Args:
        order: [N] indices of pairs.
        lengths: [N] the longer side of each, in that order.
    """
    batches: list[np.ndarray] = []
    start = longest = 0
    for end, length in enumerate(lengths.tolist()):
        longest = max(longest, length)
        if (end - start + 1) * longest > batch_tokens and end > start:
            batches.append(order[start:end])
            start, longest = end, length
    return [*batches, order[start:]]


def read_manifest(folder: Path) -> dict[str, Any]:
    """What `prepare` wrote down of a folder, last of all.

    Raises:
        DataError: there is none, so `prepare` did not finish there.
    """
    try:
        return json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise DataError(f"{folder} has no {MANIFEST}: `python -m train prepare` was not run there, or did not finish; run it (again)") from error
    except ValueError as error:
        raise DataError(f"{folder}/{MANIFEST} is damaged ({error}): prepare it again") from error
