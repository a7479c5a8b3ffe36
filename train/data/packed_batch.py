"""Batches without padding: token rows of sentence pairs, one after the other, in tensors of one shape.

Every batch of a run has the same shapes, so that nothing is compiled or planned for a second one. What a batch lacks is
filled up with sentences of `<pad>`, which attend to themselves alone and have no label.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from core.text.tokenizer import BOS_ID, EOS_ID, PAD_ID
from train.data.token_shards import Side, Tensors

TOKENS_PER_SENTENCE = 8  # at most one sentence for as many rows: a batch of shorter ones has fewer tokens


@dataclass(frozen=True)
class PackedBatch(Tensors):
    """Rows of both sides, int64, sentence after sentence; R rows a side, of which the last are filled up.

    `source` [R] has pieces and `</s>`, `target_in` [R] `<s>` and pieces, `target_out` [R] pieces and `</s>`: the
    decoder's labels, `<pad>` where there is none. `source_positions` and `target_positions` [R] count from 0 in each
    sentence. Sentence b has rows starts[b] to starts[b + 1] - 1 of `source_starts` and `target_starts` [B + 1], int32;
    the last sentences have no rows.
    """

    source: Tensor
    source_positions: Tensor
    source_starts: Tensor
    target_in: Tensor
    target_out: Tensor
    target_positions: Tensor
    target_starts: Tensor
    longest: int  # no sentence has more rows; the same for all batches of a run
    num_tokens: int  # target tokens, without those filled up


@dataclass(frozen=True)
class PackedShape:
    """Shape of all batches of a run: R rows of either side, of which a sentence has at most `longest`."""

    rows: int
    longest: int

    @property
    def fillers(self) -> int:
        """Rows that sentences never use, so that each sentence of `<pad>` has a row on both sides."""
        return -(-self.rows // self.longest)

    @property
    def usable_rows(self) -> int:
        return self.rows - self.fillers

    @property
    def sentences(self) -> int:
        """Most sentence pairs of a batch, without those of `<pad>`."""
        return -(-self.rows // TOKENS_PER_SENTENCE)

    def cut(self, order: np.ndarray, lengths: np.ndarray) -> list[np.ndarray]:
        """Cut pairs of indices [N], with at most `longest` rows [N, 2] of both sides, into batches."""
        batches: list[np.ndarray] = []
        start, ends = 0, np.cumsum(lengths, axis=0)
        while start < len(order):
            before = ends[start - 1] if start else np.zeros(2, dtype=ends.dtype)
            fitting = min(
                int(np.searchsorted(ends[:, side], before[side] + self.usable_rows, "right")) for side in (0, 1)
            )
            stop = min(max(fitting, start + 1), start + self.sentences)
            batches.append(order[start:stop])
            start = stop
        return batches

    def batch(self, source: Side, target: Side) -> PackedBatch:
        """Pack both sides of some pairs, each its token ids one after the other and their number in each pair."""
        counts = [side[1] + 1 for side in (source, target)]  # with </s>, or <s>
        used = [int(count.sum()) for count in counts]
        left = [self.rows - rows for rows in used]
        fillers = -(-max(left) // self.longest)
        source_ids, target_out = (_with_ends(ids, count, self.rows) for ids, count in (source, target))
        target_in = np.roll(target_out, 1)
        target_in[np.cumsum(counts[1]) - counts[1]] = BOS_ID
        target_in[used[1] :] = PAD_ID
        places = [self._places(count, rest, fillers) for count, rest in zip(counts, left, strict=True)]
        (source_positions, source_starts), (target_positions, target_starts) = places
        of_source = source_ids, source_positions, source_starts
        arrays = *of_source, target_in, target_out, target_positions, target_starts
        return PackedBatch(*map(torch.from_numpy, arrays), longest=self.longest, num_tokens=used[1])

    def _places(self, counts: np.ndarray, left: int, fillers: int) -> tuple[np.ndarray, np.ndarray]:
        """Positions [R] and starts [B + 1] of sentences, followed by `fillers` that share the rows left."""
        filled = np.diff(np.linspace(0, left, fillers + 1).astype(np.int64))
        lengths = np.concatenate([counts, filled])
        starts = np.full(self.sentences + self.fillers + 1, self.rows, dtype=np.int32)
        starts[0] = 0
        starts[1 : len(lengths) + 1] = np.cumsum(lengths)
        positions = np.arange(self.rows) - np.repeat(starts[: len(lengths)].astype(np.int64), lengths)
        return positions, starts


def _with_ends(ids: np.ndarray, counts: np.ndarray, rows: int) -> np.ndarray:
    """Put `</s>` behind each of the sentences of `ids`, and `<pad>` behind the last: [N] -> [rows]."""
    packed = np.full(rows, PAD_ID, dtype=np.int64)
    ends = np.cumsum(counts) + np.arange(len(counts))  # of each sentence's </s>
    used = int(counts.sum()) + len(counts)
    packed[:used][np.isin(np.arange(used), ends, invert=True)] = ids
    packed[ends] = EOS_ID
    return packed
