import itertools
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from core.text.tokenizer import BOS_ID, EOS_ID, PAD_ID
from tests.train.conftest import write_shards
from train.data.batches import AHEAD, Batches, Group, Position, Prefetched, cut
from train.data.packed_batch import PackedBatch
from train.data.token_shards import Batch, DataError, TokenShards, make_batch, read_manifest

Pairs = list[tuple[list[int], list[int]]]


def random_pairs(count: int, seed: int = 0) -> Pairs:
    """Ids with lengths distributed as those of sentences; the first id of each side numbers the pair."""
    random = np.random.default_rng(seed)
    lengths = np.clip(random.lognormal(3.0, 0.6, count), 1, 120).astype(int)
    others = np.clip(lengths * random.normal(1.1, 0.15, count), 1, 140).astype(int)
    return [
        ([4 + number, *[5] * (n - 1)], [4 + number, *[6] * (m - 1)])
        for number, (n, m) in enumerate(zip(lengths, others, strict=True))
    ]


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> TokenShards:
    folder = tmp_path_factory.mktemp("shards")
    write_shards(folder, random_pairs(3000), vocab_size=4000)
    return TokenShards(folder)


def batches_of(shards: TokenShards, seed: int = 1, batch_tokens: int = 1500, max_length: int = 100) -> Batches:
    return Batches(shards, batch_tokens, seed, max_length)


def test_ids_come_back(tmp_path: Path) -> None:
    pairs = random_pairs(40)
    write_shards(tmp_path, pairs, vocab_size=100)
    shards = TokenShards(tmp_path)
    assert [shards.pair(index) for index in range(len(shards))] == pairs
    assert shards.lengths().tolist() == [[len(source) + 1, len(target) + 1] for source, target in pairs]
    assert shards.largest_id() == 4 + 39
    assert shards.tokens[0].dtype == np.uint16


def test_large_vocabularies_keep_their_ids(tmp_path: Path) -> None:
    write_shards(tmp_path, [([70_000], [3, 69_999])], vocab_size=70_001)
    assert TokenShards(tmp_path).pair(0) == ([70_000], [3, 69_999])


def test_a_batch_has_special_tokens_and_padding() -> None:
    batch = make_batch([([7, 8], [9]), ([7], [9, 10, 11])])
    assert batch.source.tolist() == [[7, 8, EOS_ID], [7, EOS_ID, PAD_ID]]
    assert batch.target_in.tolist() == [[BOS_ID, 9, PAD_ID, PAD_ID], [BOS_ID, 9, 10, 11]]
    assert batch.target_out.tolist() == [[9, EOS_ID, PAD_ID, PAD_ID], [9, 10, 11, EOS_ID]]
    assert batch.num_tokens == 2 + 4


def test_shards_and_lists_make_the_same_batch(shards: TokenShards) -> None:
    indices = np.array([7, 3, 2999, 0])
    assert same(shards.batch(indices), make_batch([shards.pair(index) for index in indices]))


def same(one: Batch, other: Batch) -> bool:
    parts = ((one.source, other.source), (one.target_in, other.target_in), (one.target_out, other.target_out))
    return one.num_tokens == other.num_tokens and all(torch.equal(*part) for part in parts)


def test_every_usable_pair_occurs_once_in_an_epoch_in_batches_of_the_allowed_size(shards: TokenShards) -> None:
    batches = batches_of(shards)
    usable = [index for index, lengths in enumerate(shards.lengths().max(axis=1)) if lengths <= 100]
    assert len(usable) < len(shards)
    for epoch in (0, 5):
        assert sorted(np.concatenate(batches.epoch(epoch)).tolist()) == usable
    for indices in batches.epoch(0):
        batch = shards.batch(indices)
        assert 0 < batch.source.numel() <= 1500
        assert 0 < batch.target_in.numel() <= 1500


@given(st.lists(st.integers(1, 30), min_size=1), st.integers(1, 100))
@settings(max_examples=60)
def test_cutting_loses_nothing_and_keeps_the_limit(lengths: list[int], limit: int) -> None:
    order = np.arange(len(lengths))
    parts = cut(order, np.array(lengths), limit)
    assert np.concatenate(parts).tolist() == order.tolist()
    for part in parts:
        assert len(part)
        assert len(part) == 1 or len(part) * max(lengths[index] for index in part) <= limit


def test_the_order_depends_on_seed_and_epoch_only(shards: TokenShards) -> None:
    def plan(seed: int, epoch: int) -> list[list[int]]:
        return [indices.tolist() for indices in batches_of(shards, seed).epoch(epoch)]

    assert plan(1, 0) == plan(1, 0)
    assert plan(1, 0) != plan(1, 1)
    assert plan(1, 0) != plan(2, 0)


def test_batches_are_not_in_the_order_of_their_lengths(shards: TokenShards) -> None:
    longest = [shards.lengths()[indices].max() for indices in batches_of(shards).epoch(0)]
    assert abs(np.corrcoef(longest, np.arange(len(longest)))[0, 1]) < 0.3


def test_resuming_within_an_epoch_gives_the_same_batches(shards: TokenShards) -> None:
    batches = batches_of(shards)
    per_epoch = len(batches.epoch(0))
    whole = list(itertools.islice(batches.groups(Position(), accumulate=2), per_epoch))  # two epochs
    for cut_at in (0, 1, per_epoch // 2 - 1, per_epoch // 2, per_epoch - 1):
        resumed = batches_of(shards).groups(whole[cut_at].end, accumulate=2)
        for expected in whole[cut_at + 1 : cut_at + 4]:
            group = next(resumed)
            assert (group.start, group.end, group.num_tokens) == (expected.start, expected.end, expected.num_tokens)
            assert all(same(*pair) for pair in zip(group.batches, expected.batches, strict=True))


def test_batches_say_which_pairs_were_made_by_rule(shards: TokenShards) -> None:
    batches = Batches(shards, 1500, 1, 100, by_rule=[(0, 50), (2000, 2999)])
    rows = [each for group in itertools.islice(batches.groups(Position()), 40) for each in group.batches]
    numbers = torch.cat([batch.source[:, 0] - 4 for batch in rows])
    made = torch.cat([batch.by_rule for batch in rows])
    assert torch.equal(made, (numbers < 50) | ((numbers >= 2000) & (numbers < 2999)))
    assert 0 < made.sum() < len(made)


def test_ranks_share_the_batches_of_a_step_and_indices_name_its_pairs(shards: TokenShards) -> None:
    batches = batches_of(shards)
    alone = next(batches.groups(Position(), accumulate=4))
    ranks = [next(batches.groups(Position(), accumulate=2, rank=rank, num_ranks=2)) for rank in range(2)]
    assert all(same(*pair) for pair in zip(alone.batches[0::2], ranks[0].batches, strict=True))
    assert all(same(*pair) for pair in zip(alone.batches[1::2], ranks[1].batches, strict=True))
    assert (
        {alone.num_tokens} == {rank.num_tokens for rank in ranks} == {sum(batch.num_tokens for batch in alone.batches)}
    )
    assert alone.end == ranks[0].end == ranks[1].end

    groups = batches.groups(Position(), accumulate=3)
    next(groups)
    group = next(groups)
    numbers = [int(row[0]) - 4 for batch in group.batches for row in batch.source]
    assert batches.indices(group.start, 3).tolist() == numbers


def test_little_of_a_realistic_epoch_is_padding(tmp_path: Path) -> None:
    write_shards(tmp_path, random_pairs(30_000), vocab_size=40_000)
    batches = Batches(TokenShards(tmp_path), batch_tokens=4096, seed=1)
    filled = real = 0
    for indices in batches.epoch(0):
        batch = batches.shards.batch(indices)
        filled += batch.source.numel() + batch.target_in.numel()
        real += int((batch.source != PAD_ID).sum() + (batch.target_in != PAD_ID).sum())
    by_target = Batches(batches.shards, batch_tokens=4096, seed=1, bucketing="target")
    assert batches.padding(batches.epoch(0)) == pytest.approx(1 - real / filled)
    assert batches.padding(batches.epoch(0)) < 0.05
    assert batches.padding(batches.epoch(0)) < by_target.padding(by_target.epoch(0))


def test_bucketing_by_target_sorts_by_target_then_source(shards: TokenShards) -> None:
    batches = Batches(shards, batch_tokens=10**9, seed=1, bucketing="target")
    [indices] = batches.epoch(0)
    lengths = shards.lengths()[indices][:, ::-1].tolist()
    assert lengths == sorted(lengths)


def test_only_long_pairs_are_an_error(shards: TokenShards) -> None:
    with pytest.raises(DataError, match="no sentence pair of the 3000 fits: the shortest is longer than 1 tokens"):
        batches_of(shards, max_length=1)


def test_shards_without_checksums_are_checked_by_their_contents(tmp_path: Path) -> None:
    """As those of earlier versions."""
    with pytest.raises(DataError, match=r"has no source.tokens.npy, .*make token shards"):
        TokenShards(tmp_path)
    write_shards(tmp_path, random_pairs(5), vocab_size=100)
    (tmp_path / "checksums.json").unlink()
    path, tokens = tmp_path / "source.offsets.npy", tmp_path / "source.tokens.npy"
    offsets = np.load(path)
    assert len(TokenShards(tmp_path)) == 5
    for wrong, message in (
        (offsets[:-1], "4 source but 5 target sentences"),
        (offsets + 1, "not as many as its offsets give"),
        (offsets[[0, 2, 1, 3, 4, 5]], r"source.offsets.npy is damaged: its numbers do not rise from 0; prepare it ag"),
        (offsets[:, None], r"source.offsets.npy is damaged: int64 \[6, 1\], expected whole numbers; prepare it again"),
        (offsets.astype(float), r"source.offsets.npy is damaged: float64 \[6\], expected whole numbers"),
        (offsets.astype("U9"), r"source.offsets.npy is damaged: <U9 \[6\], expected whole numbers"),
    ):
        np.save(path, wrong)
        with pytest.raises(DataError, match=message):
            TokenShards(tmp_path)
    np.save(path, offsets)
    for content in (b"", b"hello", bytes(200), tokens.read_bytes()[:-20], tokens.read_bytes().replace(b"(", b"[")):
        tokens.write_bytes(content)
        with pytest.raises(DataError, match=r"source\.tokens\.npy is damaged: .*; prepare it again$"):
            TokenShards(tmp_path)


def test_each_changed_byte_of_shards_is_noticed(tmp_path: Path) -> None:
    write_shards(tmp_path, random_pairs(5), vocab_size=100)
    for path in sorted(tmp_path.glob("*.npy")):
        content = path.read_bytes()
        for place in (0, 30, 127, 130, len(content) - 1):
            path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
            with pytest.raises(
                DataError, match=rf"{path.name} is damaged: its checksum is not that of checksums.json; "
            ):
                TokenShards(tmp_path)
        path.write_bytes(content)
    assert len(TokenShards(tmp_path)) == 5
    for content in (b"", b"[]", b"{", b"\xff"):
        (tmp_path / "checksums.json").write_bytes(content)
        with pytest.raises(DataError, match=r"checksums\.json is damaged: .*; prepare it again$"):
            TokenShards(tmp_path)


def test_a_folder_without_a_manifest_was_not_finished(tmp_path: Path) -> None:
    with pytest.raises(
        DataError,
        match=r"has no manifest.json: run `python -m train prepare` there, or run it again if it did not finish",
    ):
        read_manifest(tmp_path)
    (tmp_path / "manifest.json").write_text('{"cut', encoding="utf-8")
    with pytest.raises(DataError, match=r"manifest.json is damaged"):
        read_manifest(tmp_path)
    for content, reason in (("[]", "it is a list"), ('{"vocab_size": "9"}', "vocab_size is '9', not a whole number")):
        (tmp_path / "manifest.json").write_text(content, encoding="utf-8")
        with pytest.raises(DataError, match=rf"manifest\.json is damaged: {reason}.*; prepare it again$"):
            read_manifest(tmp_path)


def test_packed_batches_have_every_pair_once_an_epoch_in_another_order(shards: TokenShards) -> None:
    batches = Batches(shards, batch_tokens=1500, seed=1, max_length=100, bucketing="packed")
    plans = [batches.epoch(number) for number in (0, 1)]
    for plan in plans:
        assert sorted(np.concatenate(plan).tolist()) == batches.usable.tolist()
    assert not np.array_equal(np.concatenate(plans[0]), np.concatenate(plans[1]))
    assert batches.padding(plans[0][:-1]) < 0.1
    group = next(batches.groups(Position(), accumulate=2))
    assert all(isinstance(batch, PackedBatch) for batch in group.batches)
    assert group.num_tokens == sum(batch.num_tokens for batch in group.batches)


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
