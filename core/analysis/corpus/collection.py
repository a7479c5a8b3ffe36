"""One pass over a corpus that collects the examples and scores of an index.

Memory does not grow with the number of sentences, except for their texts. An index can be made at any time during the
pass, of the sentences read so far.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from core.analysis.alignment.first_head import AgreementScorer
from core.analysis.attribution.forward_trace import transformed
from core.analysis.corpus.distribution_pass import CountedSentence, DistributionPass
from core.analysis.corpus.distributions import rounded
from core.analysis.corpus.index import (
    PLACES,
    QUANTILES,
    CorpusFacts,
    CorpusIndex,
    Floats,
    HeadTable,
    IndexedSentence,
    NeuronTable,
    Numbers,
)
from core.analysis.corpus.promotion import ordinary_rows, promoted_tokens, promotes
from core.analysis.corpus.recording import RecordedBatch, feed_forward_networks, record_batch
from core.analysis.corpus.running_statistics import Distribution, LargestValues
from core.analysis.corpus.strength import map_strengths, place_masks, strongest
from core.analysis.heads.corpus_maps import Pair
from core.analysis.heads.head import all_heads, attention_layers
from core.analysis.heads.scorecards import ScoreCard
from core.analysis.heads.scorer import MeasuredRows, piece_frequencies
from core.capture import AttentionMap
from core.decoding.text_codec import PassIds
from core.text.text_files import Line
from core.trace import STACKS, Head, Kind, Stack
from core.translator import Translator

BATCH_SIZE = 16  # sentences of a forward pass; other threads may use the model between two
WINDOW = 16  # batches whose sentences are translated and sorted by length together
EXAMPLES = 10  # of a neuron, and of a head at each place
MAX_TOKENS = 128  # of a source, `</s>` included; longer ones are left out
MAX_SENTENCES = 65_536  # their numbers have 16 bits
PROMOTION_SENTENCES = 500  # the first ones, in which promoted tokens are measured: the vocabulary makes it slow

_Promoted = tuple[Tensor, Sequence[int] | None, Sequence[int]]  # arguments of `promotes`


class CorpusPass:
    """A pass over a corpus, see `steps`.

    Args:
        lines: sentences, with or without translations; repeated pairs and too long sentences are left out.
        beam_size: of the search for the translations that are not given.
        error_rates: alignment error rate of heads, if known.
        batch_size: sentences of a forward pass.

    Attributes:
        lines: the sentences that are read.
        done: number of sentences read so far.
        left_out: number of lines that are repeated or too long.

    Raises:
        ValueError: no sentence is left, there are too many, or one has a line break.
    """

    def __init__(
        self,
        translator: Translator,
        lines: Sequence[Line],
        beam_size: int = 1,
        error_rates: Mapping[Head, float] | None = None,
        batch_size: int = BATCH_SIZE,
    ) -> None:
        self.lines = _readable(translator, lines)
        self.left_out, self.done, self.num_tokens = len(lines) - len(self.lines), 0, 0
        self._translator, self._beam_size, self._batch_size = translator, beam_size, batch_size
        self._error_rates = error_rates
        self._scorer = AgreementScorer(piece_frequencies(translator.tokenizer, (line.source for line in self.lines)))
        self._promotion = _PromotionTally()
        self._targets: dict[int, tuple[int, ...]] = {}
        model = translator.model
        heads = {place: module.num_heads for place, module in attention_layers(model).items()}
        self._heads = {
            place: (LargestValues((count, len(PLACES)), EXAMPLES, 3), Distribution(count))
            for place, count in heads.items()
        }
        self._distributions = DistributionPass(heads, len(self.lines))
        self._neurons = {
            place: (LargestValues((module.inner.out_features,), EXAMPLES, 2), Distribution(module.inner.out_features))
            for place, module in feed_forward_networks(model).items()
        }

    def steps(self) -> Iterator[int]:
        """Read the corpus batch by batch, and yield the number of sentences of each.

        Raises:
            ValueError: a sentence cannot be translated; the message names its line.
        """
        size = self._batch_size * WINDOW
        for start in range(0, len(self.lines), size):
            numbers = range(start, min(start + size, len(self.lines)))
            pairs = self._translated(numbers)
            by_length = sorted(numbers, key=lambda number: -len(self.lines[number].source))
            for first in range(0, len(by_length), self._batch_size):
                batch = by_length[first : first + self._batch_size]
                self._add(batch, [pairs[number] for number in batch])
                self.done += len(batch)
                yield len(batch)

    def _translated(self, numbers: Iterable[int]) -> dict[int, Pair]:
        """Sentences and their translations as token ids, without `</s>`."""
        translator, eos_id = self._translator, self._translator.model.config.eos_id
        searched = [number for number in numbers if self.lines[number].target is None]
        sources = [self.lines[number].source for number in searched]
        pairs: dict[int, Pair] = {}
        for number, translation in zip(searched, translator.translate_batch(sources, self._beam_size), strict=True):
            *ids, last = translation.hypotheses[0].token_ids
            pairs[number] = self.lines[number].source, ids if last == eos_id else [*ids, last]
        for number in numbers:
            line = self.lines[number]
            if line.target is not None:
                try:
                    ids = translator.token_ids(line.source, translator.codec.target_ids(line.target, line.source))
                except ValueError as error:
                    raise ValueError(f"line {line.number}: {error}") from error
                pairs[number] = line.source, ids.predicted[:-1]
        return pairs

    @torch.inference_mode()
    def _add(self, numbers: Sequence[int], pairs: Sequence[Pair]) -> None:
        recorded = record_batch(self._translator, pairs)
        for maps in recorded.maps:
            self._scorer.add(maps)
        self._targets.update((number, tuple(ids)) for number, (_, ids) in zip(numbers, pairs, strict=True))
        self.num_tokens += sum(len(ids) + 1 for _, ids in pairs)
        ids = [self._translator.token_ids(*pair) for pair in pairs]
        first = {row: ids[row] for row, number in enumerate(numbers) if number < PROMOTION_SENTENCES}
        counted = [
            {kind: self._distributions.sentence(layers[0], ids[row]) for kind, layers in maps.items()}
            for row, maps in enumerate(recorded.maps)
        ]
        self._distributions.sample(numbers)
        for (kind, layer), values in recorded.values.items():
            norms = transformed(attention_layers(self._translator.model)[kind, layer], values).norm(dim=-1)
            norms = norms.float().cpu()  # [B, H, K]
            promoted = self._promoted(kind, layer, values, first) if kind != "encoder_self" else {}
            for row, number in enumerate(numbers):
                attention = recorded.maps[row][kind][layer]
                self._add_heads(attention, norms[row], number, promoted.get(row), counted[row][kind])
        self._add_neurons(numbers, recorded)

    def _promoted(self, kind: Kind, layer: int, values: Tensor, ids: Mapping[int, PassIds]) -> dict[int, _Promoted]:
        """Arguments of `promotes` for the rows of the batch that have ids."""
        translator = self._translator
        if not ids:
            return {}
        promoted = promoted_tokens(translator.model, kind, layer, values[list(ids)])  # [rows, H, K, n]
        is_joint = translator.model.target_embedding is None and translator.tokenizer.target is translator.tokenizer
        arguments: dict[int, _Promoted] = {}
        for (row, (source, fed, predicted)), each in zip(ids.items(), promoted, strict=True):
            keys = fed if kind == "decoder_self" else source
            known = keys if kind == "decoder_self" or is_joint else None
            arguments[row] = each[:, : len(keys)], known, predicted
        return arguments

    def _add_heads(
        self, attention: AttentionMap, norms: Tensor, number: int, promoted: _Promoted | None, counted: CountedSentence
    ) -> None:
        """Count one layer of a sentence."""
        rows = MeasuredRows(attention)
        if not len(rows.rows):
            return
        promoting = promotes(attention, *promoted) if promoted else {}
        self._promotion.add(attention, promoting)
        strengths = map_strengths(attention, norms)[:, rows.rows]  # [H, R, K]
        values, pairs = strongest(strengths, place_masks(rows, promoting))  # [H, P]
        queries, keys = rows.rows[pairs // strengths.size(-1)], pairs % strengths.size(-1)
        largest, distribution = self._heads[attention.kind, attention.layer]
        marks = torch.stack((torch.full_like(pairs, number), queries, keys), -1)
        largest.add(values[..., None], marks[..., None, :])
        distribution.add(strengths.amax(-1))
        self._distributions.add(attention, strengths, counted, rows)
        anywhere = values[:, 0], queries[:, 0], keys[:, 0]
        self._distributions.keep(number, (attention.kind, attention.layer), anywhere)

    def _add_neurons(self, numbers: Sequence[int], recorded: RecordedBatch) -> None:
        sentences = torch.tensor(numbers)
        for (stack, layer), activations in recorded.activations.items():
            name: Kind = "encoder_self" if stack == "encoder" else "decoder_self"
            lengths = torch.tensor([len(maps[name][0].query_tokens) for maps in recorded.maps])
            values = activations.float().cpu()
            is_real = torch.arange(values.size(1)) < lengths[:, None]  # [B, L]
            best = values.masked_fill(~is_real[..., None], -math.inf).max(1)  # [B, d_ff]
            largest, distribution = self._neurons[stack, layer]
            marks = torch.stack((sentences[:, None].expand_as(best.indices), best.indices), -1)
            largest.add(best.values.T, marks.transpose(0, 1))
            distribution.add(values[is_real].T)

    def cards(self) -> tuple[ScoreCard, ...]:
        """Score-cards of all heads, by kind, then by layer."""
        promotion = self._promotion.shares()
        cards = {card.head: card for card in self._scorer.cards(self._error_rates)}
        return tuple(replace(cards[head], **promotion.get(head, {})) for head in all_heads(self._translator.model))

    def index(self, facts: CorpusFacts) -> CorpusIndex:
        """The index of the sentences read so far, with the facts and their numbers.

        Raises:
            ValueError: no sentence has been read.
        """
        if not self.done:
            raise ValueError("no sentence has been read: there is nothing to index yet")
        heads, neurons = [each for each, _ in self._heads.values()], [each for each, _ in self._neurons.values()]
        used = torch.cat([each.marks[..., 0][each.values > 0] for each in (*heads, *neurons)])
        used = torch.cat((used, torch.tensor(self._distributions.sampled))).unique()
        place = torch.zeros(len(self.lines), dtype=torch.int64)
        place[used] = torch.arange(len(used))
        values, (sentences, queries, keys) = _columns(heads, place)
        quantiles = _quantiles([each for _, each in self._heads.values()])
        return CorpusIndex(
            facts=replace(facts, num_sentences=self.done, num_tokens=self.num_tokens),
            sentences=tuple(self._sentence(number) for number in used.tolist()),
            cards=self.cards(),
            heads=HeadTable(values, sentences, queries, keys, quantiles),
            neurons={stack: self._neuron_table(stack, place) for stack in STACKS},
            distributions=self._distributions.table(self.done, place),
        )

    def _sentence(self, number: int) -> IndexedSentence:
        line = self.lines[number]
        return IndexedSentence(
            line.number, line.source, self._translator.codec.num_tokens(line.source), self._targets[number]
        )

    def _neuron_table(self, stack: Stack, place: Tensor) -> NeuronTable:
        of_stack = [each for (side, _), each in self._neurons.items() if side == stack]
        distributions, shape = [each for _, each in of_stack], (len(of_stack), -1)
        values, (sentences, positions) = _columns([each for each, _ in of_stack], place)
        return NeuronTable(
            values.reshape(*shape, EXAMPLES),
            sentences.reshape(*shape, EXAMPLES),
            positions.reshape(*shape, EXAMPLES),
            _quantiles(distributions).reshape(*shape, len(QUANTILES)),
            np.stack([each.positive_share().numpy() for each in distributions]),
        )


def _columns(layers: Sequence[LargestValues], place: Tensor) -> tuple[Floats, Sequence[Numbers]]:
    """Values and marks of layers, one after the other, by the sentences' new places; without a value, marks are 0."""
    values, marks = torch.cat([each.values for each in layers]), torch.cat([each.marks for each in layers])
    marks = torch.cat((place[marks[..., :1]], marks[..., 1:]), -1) * (values > 0)[..., None]
    return rounded(values.numpy()), [column.numpy().astype(np.uint16) for column in marks.unbind(-1)]


def _quantiles(distributions: Sequence[Distribution]) -> Floats:
    return torch.cat([each.quantiles(QUANTILES) for each in distributions]).numpy()


def _readable(translator: Translator, lines: Sequence[Line]) -> list[Line]:
    """Lines without repeated pairs and without sentences of more than `MAX_TOKENS`."""
    if broken := next((line for line in lines if "\n" in line.source), None):
        raise ValueError(f"the sentence {broken.source!r:.60} has a line break: expected one sentence per line")
    first = {(line.source, line.target): line for line in reversed(lines)}.values()
    readable = sorted(
        (
            line
            for line in first
            if translator.codec.num_tokens(line.source) <= MAX_TOKENS and translator.codec.fits(line.source)
        ),
        key=lambda line: line.number,
    )
    if not readable:
        raise ValueError(f"no sentence has at most {MAX_TOKENS} tokens: expected one sentence per line")
    if len(readable) > MAX_SENTENCES:
        raise ValueError(f"there are {len(readable)} sentences, at most {MAX_SENTENCES} can be indexed: give fewer")
    return readable


class _PromotionTally:
    """Sums of the weights on keys for which a head promotes a token: the key's own, or the predicted one."""

    def __init__(self) -> None:
        self._sums: dict[tuple[str, Kind, int], Tensor] = {}
        self._rows: Counter[tuple[str, Kind, int]] = Counter()

    def add(self, attention: AttentionMap, promoting: Mapping[str, Tensor]) -> None:
        """Count one layer of a sentence."""
        rows = ordinary_rows(attention)
        for name, keys in promoting.items():
            key = name, attention.kind, attention.layer
            weights = (attention.weights * keys)[:, rows].sum((1, 2))  # [H]
            self._sums[key] = self._sums.get(key, torch.zeros_like(weights)) + weights
            self._rows[key] += len(rows)

    def shares(self) -> dict[Head, dict[str, float]]:
        """Mean weight of each head by name."""
        shares: dict[Head, dict[str, float]] = {}
        for (name, kind, layer), sums in self._sums.items():
            for head, total in enumerate(sums.tolist()):
                rows = self._rows[name, kind, layer]
                shares.setdefault(Head(kind, layer, head), {})[name] = total / rows if rows else math.nan
        return shares
