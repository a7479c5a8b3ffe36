"""Batches of about equal length from token shards (5.1)."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from train.data.token_shards import Batch, DataError, TokenShards

Bucketing = Literal["longest", "target"]

POOLS: dict[Bucketing, int] = {"longest": 2_000_000, "target": 200_000}  # pairs sorted by length together


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

    def __init__(
        self, shards: TokenShards, batch_tokens: int, seed: int, max_length: int = 256, bucketing: Bucketing = "longest"
    ) -> None:
        self.shards, self.batch_tokens, self.seed = shards, batch_tokens, seed
        self.bucketing: Bucketing = bucketing
        self.lengths = shards.lengths()
        self.usable = np.flatnonzero(self.lengths.max(axis=1) <= min(max_length, batch_tokens))
        if not len(self.usable):
            raise DataError(
                f"no sentence pair of the {len(shards)} fits: the shortest is longer than "
                f"{min(max_length, batch_tokens)} tokens"
            )

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
        """The order of pairs by their lengths; stable, so that after a shuffle pairs of equal lengths meet other
        pairs.
        """
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
    """Split an order of pairs into batches of at most `batch_tokens` a side, padding included; a longer pair goes
    alone.

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
