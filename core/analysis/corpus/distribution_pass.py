"""The distributions of all heads, counted sentence by sentence, see `distributions`."""

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from core.analysis.corpus import distributions
from core.analysis.heads.scorer import MeasuredRows
from core.capture import AttentionMap
from core.decoding.text_codec import PassIds
from core.text.byte_pieces import is_special
from core.trace import Kind

SEED = 0

_Layer = tuple[Kind, int]
Pairs = tuple[Tensor, Tensor, Tensor]  # strength, query and key of the strongest pair of each head: [H] each


class UniformSample:
    """Sentences of a sample in which each one read so far is with the same probability.

    All sentences of the corpus, `population`, are put into a random order at first, and those of the lowest ranks are
    kept, so the sample depends neither on the order of reading nor on the sentences. `kept` is what was recorded of
    each, by its number.
    """

    def __init__(self, population: int, size: int = distributions.SAMPLE_SIZE, seed: int = SEED) -> None:
        self._ranks, self._size = random.Random(seed).sample(range(population), population), size
        self.kept: dict[int, dict[_Layer, Pairs]] = {}

    def add(self, number: int) -> None:
        """Take a sentence into the sample; the one of the highest rank leaves a full one."""
        self.kept[number] = {}
        if len(self.kept) > self._size:
            del self.kept[max(self.kept, key=self._ranks.__getitem__)]


@dataclass(frozen=True)
class _TextPairs:
    """Pairs of tokens of the text in one kind of attention, see `distributions`."""

    num_rows: int  # number of queries
    at: Tensor  # [pairs] index of each among Q * K
    bins: Tensor  # [1 or 2, pairs] of their distances, and of those from the diagonal


def text_pairs(attention: AttentionMap) -> _TextPairs:
    """The pairs that all layers of this kind have."""
    queries = attention.row_tokens if attention.kind == "cross" else attention.query_tokens
    rows, keys = (torch.tensor([not is_special(token) for token in each]) for each in (queries, attention.key_tokens))
    counted = rows & (attention.visible.sum(1) > 1)
    query, key = (counted[:, None] & keys).nonzero().unbind(1)
    distances = [key - query]
    if attention.kind == "cross":
        row, column = rows.cumsum(0)[query] - 1, keys.cumsum(0)[key] - 1  # places i, j among the tokens of the text
        target, source = rows.sum(), keys.sum()
        doubled = (2 * column + 1) * target - (2 * row + 1) * source  # 2 T times the distance, as a whole number
        distances.append((doubled + target).div(2 * target, rounding_mode="floor"))
    bins = torch.stack(distances).clamp(-distributions.FARTHEST, distributions.FARTHEST) + distributions.FARTHEST
    return _TextPairs(int(counted.sum()), query * len(keys) + key, bins)


class _Sums:
    """Sums over the occurrences of tokens: [measures, H, tokens], of as many tokens as occurred."""

    def __init__(self, num_heads: int) -> None:
        self.values = torch.zeros(2, num_heads, 256)

    def add(self, tokens: Tensor, values: Tensor) -> None:
        """Add values: [measures, H, number of tokens]."""
        while len(tokens) and int(tokens.max()) >= self.values.size(2):
            self.values = torch.cat((self.values, torch.zeros_like(self.values)), 2)
        self.values.index_add_(2, tokens, values)


class _Occurrences:
    """Tokens of one side of one kind of attention, numbered as they occur."""

    def __init__(self) -> None:
        self.numbers: dict[int, int] = {}
        self.counts: defaultdict[int, int] = defaultdict(int)

    def add(self, ids: Sequence[int]) -> Tensor:
        """Count tokens, and return their numbers."""
        for token_id in ids:
            self.counts[self.numbers.setdefault(token_id, len(self.numbers))] += 1
        return torch.tensor([self.numbers[token_id] for token_id in ids], dtype=torch.int64)


@dataclass(frozen=True)
class CountedSentence:
    """What all layers of one kind of attention have in common in a sentence."""

    pairs: _TextPairs
    query_numbers: Tensor  # of the tokens of the rows that count
    key_numbers: Tensor  # of the keys that they see
    keys: Tensor  # [K] whether any of these rows sees the key


class DistributionPass:
    """Counts of the distributions of all heads, so many of each layer, over `population` sentences."""

    def __init__(self, heads: Mapping[_Layer, int], population: int) -> None:
        self._heads, self._sample = heads, UniformSample(population)
        self._weights = {
            place: torch.zeros(count, distributions.WEIGHT_BINS, dtype=torch.int64) for place, count in heads.items()
        }
        self._distances = {
            place: torch.zeros(2, count, len(distributions.DISTANCES), dtype=torch.float64)
            for place, count in heads.items()
        }
        self._rows: defaultdict[Kind, int] = defaultdict(int)
        self._tokens: defaultdict[tuple[Kind, int], _Occurrences] = defaultdict(_Occurrences)
        self._sums = {(place, side): _Sums(count) for place, count in heads.items() for side in range(2)}

    def sentence(self, attention: AttentionMap, ids: PassIds) -> CountedSentence:
        """Count the tokens of a sentence in one kind of attention, by any layer."""
        kind, rows = attention.kind, MeasuredRows(attention)
        queries = {"encoder_self": ids.source, "decoder_self": ids.fed, "cross": ids.predicted}[kind]
        of_keys = ids.fed if kind == "decoder_self" else ids.source
        keys, pairs = rows.visible.any(0), text_pairs(attention)
        self._rows[kind] += pairs.num_rows
        return CountedSentence(
            pairs,
            self._tokens[kind, 0].add([queries[row] for row in rows.rows.tolist()]),
            self._tokens[kind, 1].add([token_id for token_id, is_seen in zip(of_keys, keys, strict=True) if is_seen]),
            keys,
        )

    def sample(self, numbers: Sequence[int]) -> None:
        """Take sentences into the sample before `keep` is called with their pairs."""
        for number in numbers:
            self._sample.add(number)

    def add(self, attention: AttentionMap, strengths: Tensor, sentence: CountedSentence, rows: MeasuredRows) -> None:
        """Count one layer of a sentence, with its strengths [H, R, K]."""
        place: _Layer = attention.kind, attention.layer
        pairs = sentence.pairs
        if len(pairs.at):
            weights = attention.weights.flatten(1)[:, pairs.at]  # [H, pairs]
            bins = (weights.amax(1) * distributions.WEIGHT_BINS).long().clamp(0, distributions.WEIGHT_BINS - 1)
            self._weights[place][torch.arange(len(bins)), bins] += 1
            for sums, each in zip(self._distances[place], pairs.bins, strict=False):
                sums.index_add_(1, each, weights.double())
        both = torch.stack((rows.weights, strengths))  # [2, H, R, K]
        self._sums[place, 0].add(sentence.query_numbers, both.amax(3))
        self._sums[place, 1].add(sentence.key_numbers, both.amax(2)[..., sentence.keys])

    def keep(self, number: int, place: _Layer, pairs: Pairs) -> None:
        """Keep the strongest pair of each head of a layer, if the sentence is in the sample."""
        if number in self._sample.kept:
            self._sample.kept[number][place] = pairs

    @property
    def sampled(self) -> list[int]:
        """Numbers of the sentences of the sample, in order."""
        return sorted(self._sample.kept)

    def table(self, num_sentences: int, place_of: Tensor) -> distributions.DistributionTable:
        """The distributions of the sentences read so far; `place_of` has the number of each in the index."""
        strengths, queries, keys = (self._sampled(part) for part in range(3))
        tokens = [self._top_tokens(place, distributions.least_occurrences(num_sentences)) for place in self._heads]
        shares = [self._distances[place] / max(self._rows[place[0]], 1) for place in self._heads]
        both = torch.cat(shares, 1).float().numpy()  # [2, N, distances]
        return distributions.DistributionTable(
            sentences=place_of[self.sampled].numpy().astype(np.uint16),
            strengths=distributions.rounded(strengths.astype(np.float32)),
            queries=queries.astype(np.uint16),
            keys=keys.astype(np.uint16),
            weights=torch.cat(list(self._weights.values())).numpy().astype(np.uint32),
            distances=distributions.rounded(both[0]),
            diagonal=distributions.rounded(both[1]),
            token_ids=np.concatenate([ids for ids, _ in tokens]),
            token_values=distributions.rounded(np.concatenate([values for _, values in tokens])),
        )

    def _sampled(self, part: int) -> NDArray[np.float64]:
        """Strengths, queries or keys of the sample: [N, n]."""
        nothing = {place: (torch.zeros(count),) * 3 for place, count in self._heads.items()}
        columns = [
            torch.cat([pairs[part].double() for pairs in (nothing | self._sample.kept[number]).values()])
            for number in self.sampled
        ]
        return torch.stack(columns, 1).numpy()

    def _top_tokens(self, place: _Layer, least: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Top tokens of the heads of a layer, with their values: [H, 2, 2, TOP_TOKENS]."""
        shape = (self._heads[place], 2, 2, distributions.TOP_TOKENS)
        ids, values = np.full(shape, -1, np.int32), np.zeros(shape, np.float32)
        for side in range(2):
            tokens = self._tokens[place[0], side]
            counts = np.array([tokens.counts[number] for number in range(len(tokens.numbers))])
            known = np.array(list(tokens.numbers), np.int32)
            enough = np.flatnonzero(counts >= least)
            means = self._sums[place, side].values[..., : len(known)].numpy()[..., enough] / counts[enough]
            for measure, of_heads in enumerate(means):
                for head, each in enumerate(of_heads):
                    order = np.lexsort((known[enough], -each))[: distributions.TOP_TOKENS]
                    ids[head, side, measure, : len(order)] = known[enough][order]
                    values[head, side, measure, : len(order)] = each[order]
        return ids, values
