"""Batches of sentence pairs of similar length from token shards (5.1)."""

import contextlib
import itertools
import queue
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch

from train.data.packed_batch import PackedBatch, PackedShape
from train.data.token_shards import SIDES, Batch, DataError, TokenShards

Bucketing = Literal["longest", "target", "packed"]

POOLS = {"longest": 2_000_000, "target": 200_000}  # pairs per pool, sorted by length


@dataclass(frozen=True)
class Position:
    """A position in the stream of batches, from which it can be resumed."""

    epoch: int = 0
    batch: int = 0


@dataclass(frozen=True)
class Group:
    """The batches of one optimizer step."""

    batches: list[Batch | PackedBatch]  # of this process
    numbers: range  # their numbers among the batches of all processes
    num_tokens: int  # target tokens in the batches of all processes
    start: Position
    end: Position


class Batches:
    """Endless epochs of batches of at most `batch_tokens` tokens a side, padding included.

    The order depends on (seed, epoch) only. Pairs with more than `max_length` tokens on a side are left out.

    Args:
        bucketing: sort key of pairs before they are cut into batches. `longest`: length of the longer side, then the
            difference, for the least padding; `target`: length of the target, then of the source. `packed`: none, the
            batches are without padding.
        by_rule: (first, end) of the pairs made by rule

    Raises:
        DataError: no pair is short enough.
    """

    def __init__(
        self,
        shards: TokenShards,
        batch_tokens: int,
        seed: int,
        max_length: int = 256,
        bucketing: Bucketing = "longest",
        by_rule: Sequence[tuple[int, int]] = (),
    ) -> None:
        self.shards, self.batch_tokens, self.seed = shards, batch_tokens, seed
        self.bucketing: Bucketing = bucketing
        self.lengths = shards.lengths()
        self._by_rule = np.zeros(len(shards), dtype=bool)
        for first, end in by_rule:
            self._by_rule[first:end] = True
        self._packed = PackedShape(batch_tokens, max_length) if bucketing == "packed" else None
        longest = min(max_length, self._packed.usable_rows if self._packed else batch_tokens)
        self.usable = np.flatnonzero(self.lengths.max(axis=1) <= longest)
        if not len(self.usable):
            raise DataError(f"no sentence pair of the {len(shards)} fits: the shortest is longer than {longest} tokens")

    def epoch(self, epoch: int) -> list[np.ndarray]:
        """Return the pair indices of each batch of an epoch, in order."""
        random = np.random.default_rng((self.seed, epoch))
        order = random.permutation(self.usable)
        if self._packed:
            return self._packed.cut(order, self.lengths[order])
        batches: list[np.ndarray] = []
        pool_size = POOLS[self.bucketing]
        for start in range(0, len(order), pool_size):
            pool = order[start : start + pool_size]
            pool = pool[self._sort(*self.lengths[pool].T)]
            batches += cut(pool, self.lengths[pool].max(axis=1), self.batch_tokens)
        return [batches[index] for index in random.permutation(len(batches))]

    def _sort(self, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return indices that sort pairs by length, stably, so that a shuffle before regroups pairs of equal length."""
        if self.bucketing == "target":
            return np.lexsort((source, target))
        longest = np.maximum(source, target)
        # Alternately ascending and descending, so that the difference does not jump where the longer side grows.
        return np.lexsort(((source - target) * (1 - 2 * (longest % 2)), longest))

    def groups(self, position: Position, accumulate: int = 1, rank: int = 0, num_ranks: int = 1) -> Iterator[Group]:
        """Yield the batches of each step from `position` on: `accumulate` batches for each of `num_ranks` processes."""
        stream = self._from(position)
        while True:
            parts = [next(stream) for _ in range(accumulate * num_ranks)]
            yield Group(
                batches=[self._batch(indices) for indices, _ in parts[rank::num_ranks]],
                numbers=range(len(parts))[rank::num_ranks],
                num_tokens=sum(int(self.lengths[indices, 1].sum()) for indices, _ in parts),
                start=position,
                end=parts[-1][1],
            )
            position = parts[-1][1]

    def _batch(self, indices: np.ndarray) -> Batch | PackedBatch:
        if self._packed is None:
            return replace(self.shards.batch(indices), by_rule=torch.from_numpy(self._by_rule[indices]))
        return self._packed.batch(*(self.shards.side(side, indices) for side in range(len(SIDES))))

    def _from(self, position: Position) -> Iterator[tuple[np.ndarray, Position]]:
        """Yield the indices of each batch, and the position after it."""
        first = position.batch
        for epoch in itertools.count(position.epoch):
            for number, indices in enumerate(self.epoch(epoch)[first:], first + 1):
                yield indices, Position(epoch, number)
            first = 0

    def indices(self, position: Position, count: int) -> np.ndarray:
        """Return the pair indices of the `count` batches from a position on."""
        return np.concatenate([indices for indices, _ in itertools.islice(self._from(position), count)])

    def padding(self, plan: Sequence[np.ndarray]) -> float:
        """Return the fraction of padding among the ids of some batches."""
        filled = real = 0
        for indices in plan:
            lengths = self.lengths[indices]
            filled += 2 * self.batch_tokens if self._packed else len(indices) * int(lengths.max(axis=0).sum())
            real += int(lengths.sum())
        return 1 - real / filled


def cut(order: np.ndarray, lengths: np.ndarray, batch_tokens: int) -> list[np.ndarray]:
    """Cut pairs of indices [N] and lengths [N] of the longer side into batches of at most `batch_tokens` a side with
    padding.

    A pair longer than that has a batch of its own.
    """
    batches: list[np.ndarray] = []
    start = longest = 0
    for end, length in enumerate(lengths.tolist()):
        longest = max(longest, length)
        if (end - start + 1) * longest > batch_tokens and end > start:
            batches.append(order[start:end])
            start, longest = end, length
    return [*batches, order[start:]]


# --- Prefetching in a thread, so that the device does not wait ------------------------------------------------------


AHEAD = 4  # groups to prefetch


class Prefetched:
    """Context manager and iterator over groups on `device`.

    Its thread ends on exit. Iterating raises the errors of the thread.
    """

    def __init__(self, groups: Iterator[Group], device: torch.device) -> None:
        self._groups, self._device = groups, device
        self._ready: queue.Queue[Group | BaseException] = queue.Queue(maxsize=AHEAD)
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._fill, name="batches", daemon=True)

    def __enter__(self) -> "Prefetched":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()
        with contextlib.suppress(queue.Empty):  # the thread may wait for room
            while True:
                self._ready.get_nowait()
        self._thread.join()

    def __iter__(self) -> Iterator[Group]:
        return self

    def __next__(self) -> Group:
        group = self._ready.get()
        if isinstance(group, BaseException):
            raise group
        return replace(group, batches=[batch.to(self._device) for batch in group.batches])

    def _fill(self) -> None:
        try:
            for group in self._groups:
                if self._device.type == "cuda":
                    group = replace(group, batches=[batch.pin() for batch in group.batches])
                if not self._put(group):
                    return
        except BaseException as error:  # raised again by __next__
            self._put(error)

    def _put(self, item: Group | BaseException) -> bool:
        """Put an item into the queue; False if the context is left."""
        self._ready.put(item)
        return not self._closed.is_set()
