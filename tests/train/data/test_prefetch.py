import itertools
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from train.data.batches import Batches, Group, Position
from train.data.prefetch import AHEAD, Prefetched
from train.data.token_shards import Batch, TokenShards

CPU = torch.device("cpu")


def test_groups_are_in_order_and_unchanged(prepared: Path) -> None:
    batches = Batches(TokenShards(prepared / "train"), batch_tokens=200, seed=1)
    with Prefetched(batches.groups(Position()), CPU) as stream:
        for group, expected in zip(stream, itertools.islice(batches.groups(Position()), 30), strict=False):
            assert (group.start, group.end, group.num_tokens) == (expected.start, expected.end, expected.num_tokens)
            assert torch.equal(group.batches[0].source, expected.batches[0].source)


def test_no_more_is_made_than_may_wait_and_the_thread_ends() -> None:
    made: list[int] = []

    def groups() -> Iterator[Group]:
        while True:
            made.append(1)
            yield Group([], range(0), 1, Position(), Position())

    with Prefetched(groups(), CPU) as stream:
        for _ in range(3):
            next(stream)
    assert not [thread for thread in threading.enumerate() if thread.name == "batches"]
    assert 3 <= len(made) <= 3 + AHEAD + 1


@pytest.mark.parametrize(("kind", "pins"), [("cuda", 1), ("mps", 0), ("cpu", 0)])
def test_memory_is_pinned_for_cuda_only(kind: str, pins: int, prepared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pinned: list[Batch] = []
    monkeypatch.setattr(Batch, "pin", lambda batch: pinned.append(batch) or batch)
    monkeypatch.setattr(Batch, "to", lambda batch, _device: batch)
    groups = Batches(TokenShards(prepared / "train"), batch_tokens=200, seed=1).groups(Position())
    with Prefetched(itertools.islice(groups, 1), torch.device(kind)) as stream:
        next(stream)
    assert len(pinned) == pins


def test_an_error_in_the_thread_is_raised() -> None:
    def groups() -> Iterator[Group]:
        yield Group([], range(0), 1, Position(), Position())
        raise OSError("the disk is gone")

    with Prefetched(groups(), CPU) as stream:
        next(stream)
        with pytest.raises(OSError, match="the disk is gone"):
            next(stream)
