import itertools

import numpy as np
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from core.text.tokenizer import BOS_ID, EOS_ID, PAD_ID
from train.data.packed_batch import TOKENS_PER_SENTENCE, PackedBatch, PackedShape
from train.data.token_shards import Side

SHAPE = PackedShape(rows=120, longest=20)


def sides(pairs: list[tuple[int, int]], seed: int = 1) -> tuple[Side, Side]:
    """Random ids of pairs with these numbers of tokens, as `TokenShards.side` returns them."""
    random = np.random.default_rng(seed)
    counts = np.array(pairs).T
    return tuple((random.integers(3, 60, int(count.sum())).astype(np.uint16), count) for count in counts)  # type: ignore[return-value]


def sentences(rows: torch.Tensor, starts: torch.Tensor) -> list[list[int]]:
    return [rows[start:stop].tolist() for start, stop in itertools.pairwise(starts)]


@settings(max_examples=60, deadline=None)
@given(pairs=st.lists(st.tuples(st.integers(0, 19), st.integers(0, 19)), min_size=1, max_size=14))
def test_a_batch_has_its_sentences_and_sentences_of_padding(pairs: list[tuple[int, int]]) -> None:
    assume((np.array(pairs) + 1).sum(0).max() <= SHAPE.usable_rows)
    source, target = sides(pairs)
    batch = SHAPE.batch(source, target)
    assert batch.num_tokens == sum(length + 1 for _, length in pairs)
    rows = [sentences(*of) for of in (
        (batch.source, batch.source_starts), (batch.target_in, batch.target_starts),
        (batch.target_out, batch.target_starts),
        (batch.source_positions, batch.source_starts), (batch.target_positions, batch.target_starts),
    )]  # fmt: skip
    offsets = [np.cumsum(count) - count for _, count in (source, target)]
    for number, (row, target_in, target_out, *places) in enumerate(zip(*rows, strict=True)):
        for positions, length in zip(places, (len(row), len(target_in)), strict=True):
            assert positions == list(range(length))
        if number >= len(pairs):
            assert set(row) | set(target_in) | set(target_out) <= {PAD_ID}
            assert (len(row) == 0) == (len(target_in) == 0)  # no queries without keys
            assert max(len(row), len(target_in)) <= SHAPE.longest
            continue
        (source_ids, target_ids) = (
            ids[offset[number] :][:pair].tolist()
            for (ids, _), offset, pair in zip((source, target), offsets, pairs[number], strict=True)
        )
        assert row == [*source_ids, EOS_ID]
        assert target_in == [BOS_ID, *target_ids]
        assert target_out == [*target_ids, EOS_ID]


def test_all_batches_have_one_shape() -> None:
    few, many = SHAPE.batch(*sides([(1, 19)])), SHAPE.batch(*sides([(3, 5)] * 12))
    assert [(name, tensor.shape, tensor.dtype) for name, tensor in tensors(few)] == [
        (name, tensor.shape, tensor.dtype) for name, tensor in tensors(many)
    ]
    assert few.longest == many.longest == SHAPE.longest


def tensors(batch: PackedBatch) -> list[tuple[str, torch.Tensor]]:
    return [(name, value) for name, value in vars(batch).items() if isinstance(value, torch.Tensor)]


def test_every_pair_is_in_one_batch_and_no_batch_could_take_the_next_pair() -> None:
    random = np.random.default_rng(1)
    lengths = random.integers(1, SHAPE.longest + 1, (500, 2))
    plan = SHAPE.cut(np.arange(500), lengths)
    assert np.concatenate(plan).tolist() == list(range(500))
    for indices, following in itertools.pairwise(plan):
        assert lengths[indices].sum(0).max() <= SHAPE.usable_rows
        with_next = lengths[[*indices, following[0]]].sum(0).max() > SHAPE.usable_rows
        assert with_next or len(indices) == SHAPE.sentences


def test_short_sentences_are_limited_by_their_number() -> None:
    plan = SHAPE.cut(np.arange(100), np.ones((100, 2), dtype=np.int64))
    assert [len(indices) for indices in plan[:-1]] == [SHAPE.rows // TOKENS_PER_SENTENCE] * (len(plan) - 1)
