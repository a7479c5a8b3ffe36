"""The analysis `nearest-heads`: for each head of a model, the heads of another one that attend most like it.

The numbers of heads are arbitrary, so a head of one model is compared with all heads of the same kind of the other, on
the same sentences with the same translations, those of the first model. The likeness of two heads is the correlation of
their weights within rows: with a_ij and b_ij the weights of query i on key j, and a row's mean over its visible keys,

    r = sum of (a_ij - mean_i a)(b_ij - mean_i b) / sqrt(sum of (a_ij - mean_i a)^2 * sum of (b_ij - mean_i b)^2),

summed over all rows and keys of all sentences. Without the means of the rows, heads would be alike only because keys
share more weight where they are few. A row with a single key says nothing, and counts nothing.

Two models with one tokenizer are compared on tokens. If their tokens differ, they are compared on words: rows are means
over the pieces of a word, keys sums (Clark et al. 2019, "What Does BERT Look At?", section 4.1). Special tokens count
as words. Words that only one of them reads, such as a code of the target language, are left out.
"""

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor
from tqdm import tqdm

from core.analysis.comparison import common_axes
from core.analysis.declaration import Analysis, Columns, PicturedResult, option
from core.analysis.heads.corpus_maps import BATCH_SIZE, batch_maps
from core.analysis.heads.head import Maps
from core.analysis.pictures import Cell, Grid
from core.analysis.subject import TWO_MODELS, Subject
from core.analysis.tokens.words import mean_over_words
from core.capture import AttentionMap
from core.decoding.text_codec import require_text
from core.files.number_range import FROM_1
from core.files.tabular import as_columns
from core.text.phrases import Number, Phrase, marked
from core.text.sentences import naming_sentence
from core.text.text_files import read_text, split_lines
from core.trace import KINDS, Head, Kind
from core.translator import Translator


@dataclass(frozen=True)
class NearestOptions:
    """Options of `nearest-heads`."""

    nearest: int = option(5, "heads of the other model for each head", type=FROM_1)
    words: bool = option(False, "compare on words even if both models have the same tokens")
    prefix: str = option("", "text before each sentence, such as the code of a target language", metavar="TEXT")
    other_prefix: str = option("", "the same for the other model", metavar="TEXT")


class NearHead(NamedTuple):
    """A head of the other model, with its correlation from -1 to 1; NaN if either never changes within a row."""

    head: Head
    correlation: float


@dataclass(frozen=True)
class HeadCorrelations(PicturedResult):
    """Correlations between all heads of two models, kind by kind."""

    heads: dict[Kind, tuple[tuple[Head, ...], tuple[Head, ...]]]  # of the first and of the second model, by kind
    correlations: dict[Kind, Tensor]  # [heads of the first, heads of the second] by kind, float64
    nearest: int = 5  # number of heads in `table` for each head, and of bold ones in the picture

    def nearest_to(self, head: Head) -> list[NearHead]:
        """The heads of the second model of the same kind, the most alike first; those without a correlation last."""
        mine, theirs = self.heads[head.kind]
        row = self.correlations[head.kind][mine.index(head)].tolist()
        near = [NearHead(other, correlation) for other, correlation in zip(theirs, row, strict=True)]
        return sorted(near, key=lambda each: math.inf if math.isnan(each.correlation) else -each.correlation)

    def table(self) -> Columns:
        """A row for each head and each of the nearest to it; layers and heads are counted from 0, ranks from 1."""
        rows = [
            (*head, rank, near.head.layer, near.head.head, near.correlation)
            for mine, _ in self.heads.values()
            for head in mine
            for rank, near in enumerate(self.nearest_to(head)[: self.nearest], start=1)
        ]
        return as_columns((*Head._fields, "rank", "other_layer", "other_head", "correlation"), rows)

    def pictures(self, at: Head) -> tuple[Grid, ...]:
        """The heads of the second model by their correlation with one of the first; those without one are empty."""
        near = self.nearest_to(at)
        nearest = {head for head, _ in near[: self.nearest]}
        cells = {
            head: Cell(
                text=Number(value, ".2f"), says=Number(value, "+.3f"), shade=value, head=head, is_strong=head in nearest
            )
            for head, value in near
            if not math.isnan(value)
        }
        layers, columns = ({getattr(each.head, name) for each in near} for name in ("layer", "head"))
        grid = Grid(
            title=Phrase(marked("Heads of the second by their likeness to {head}"), head=at.short),
            legend=Phrase(marked("correlation; bold: the nearest")),
            ends=(Number(-1, "d"), Number(1, "d")),
            scale="diverging",
            columns=[f"H{head + 1}" for head in sorted(columns)],
            rows=[
                (f"L{layer + 1}", [cells.get(Head(at.kind, layer, head)) for head in sorted(columns)])
                for layer in sorted(layers)
            ],
        )
        return (grid,)

    def answer(self, at: Head) -> str:
        """The nearest head."""
        other, value = self.nearest_to(at)[0]
        return Phrase(
            marked("{other} of the second attends most like {head}: correlation {value}."),
            other=other.short,
            head=at.short,
            value=Number(value, ".2f"),
        )


class CorrelationTally:
    """Sums over sentences, from which the correlations follow.

    Args:
        words: whether to compare on words; otherwise on tokens.
    """

    def __init__(self, words: bool) -> None:
        self.words = words
        self._heads: dict[Kind, tuple[tuple[Head, ...], tuple[Head, ...]]] = {}
        self._sums: dict[Kind, tuple[Tensor, Tensor, Tensor]] = {}  # products, squares of the first and of the second

    def add(self, first: Maps, second: Maps) -> None:
        """Add a sentence, by the maps of both models of the same source and target."""
        for kind in KINDS:
            mine, theirs = (_as_one(side[kind], self.words) for side in (first, second))
            rows, keys = common_axes(mine, theirs)
            one = mine.select([row for row, _ in rows], [key for key, _ in keys])
            other = theirs.select([row for _, row in rows], [key for _, key in keys])
            seen = one.visible & other.visible
            a, b = (_within_rows(each.weights.double(), seen) for each in (one, other))  # [heads, cells]
            products, mine_squared, theirs_squared = self._sums.get(kind, (0, 0, 0))
            squares = mine_squared + (a * a).sum(1), theirs_squared + (b * b).sum(1)
            self._sums[kind] = (products + a @ b.T, *squares)
            self._heads[kind] = (_heads_of(first[kind]), _heads_of(second[kind]))

    def result(self, nearest: int = 5) -> HeadCorrelations:
        """The correlations over all sentences so far.

        Raises:
            ValueError: there was no sentence.
        """
        if not self._sums:
            raise ValueError("heads are compared on sentences, and there is none: give at least one")
        correlations: dict[Kind, Tensor] = {
            kind: (products / (mine[:, None] * theirs).sqrt()).clamp(-1, 1)
            for kind, (products, mine, theirs) in self._sums.items()
        }
        return HeadCorrelations(self._heads, correlations, nearest)


def _heads_of(layers: Sequence[AttentionMap]) -> tuple[Head, ...]:
    return tuple(Head(layer.kind, layer.layer, head) for layer in layers for head in range(layer.num_heads))


def _as_one(layers: Sequence[AttentionMap], words: bool) -> AttentionMap:
    """All heads of all layers as one map, which merges words once."""
    whole = replace(layers[0], weights=torch.cat([layer.weights for layer in layers]))
    return mean_over_words(whole) if words else whole


def _within_rows(weights: Tensor, seen: Tensor) -> Tensor:
    """Weights without the means of their rows over the keys that are seen.

    [heads, Q, K], [Q, K] -> [heads, number of seen cells].
    """
    means = (weights * seen).sum(-1, keepdim=True) / seen.sum(-1, keepdim=True).clamp(min=1)
    return (weights - means)[:, seen]


def compared_maps(
    first: Translator, second: Translator, sentences: Sequence[str], options: NearestOptions = NearestOptions()
) -> Iterator[list[tuple[Maps, Maps]]]:
    """Maps of both models of the same sentences with the same translations, which the first makes by greedy search.

    Yields:
        The pairs of one batch of sentences, longest first.

    Raises:
        ValueError: a sentence cannot be translated; raised before anything is computed.
    """
    texts = [(options.prefix + each, options.other_prefix + each) for each in sentences]
    for number, (sentence, own) in enumerate(zip(sentences, texts, strict=True), start=1):
        with naming_sentence(number):
            require_text(sentence)
            for model, text in zip((first, second), own, strict=True):
                model.codec.source_ids(text)
    return _batches(first, second, sorted(texts, key=lambda each: len(each[0]), reverse=True))


def _batches(
    first: Translator, second: Translator, texts: Sequence[tuple[str, str]]
) -> Iterator[list[tuple[Maps, Maps]]]:
    same = has_same_tokens(first, second)
    for start in range(0, len(texts), BATCH_SIZE):
        mine, theirs = zip(*texts[start : start + BATCH_SIZE], strict=True)
        best = [each.hypotheses[0] for each in first.translate_batch(mine, beam_size=1)]
        targets = [each.token_ids if same else each.text for each in best]
        own = batch_maps(first, [(text, each.token_ids) for text, each in zip(mine, best, strict=True)])
        is_itself = second is first and mine == theirs
        yield list(
            zip(own, own if is_itself else batch_maps(second, list(zip(theirs, targets, strict=True))), strict=True)
        )


def has_same_tokens(first: Translator, second: Translator) -> bool:
    """Whether two models have the same tokenizer."""
    return first is second or first.tokenizer.to_bytes() == second.tokenizer.to_bytes()


def nearest_heads(
    first: Translator, second: Translator, sentences: Sequence[str], options: NearestOptions = NearestOptions()
) -> HeadCorrelations:
    """Correlations of all heads of two models over sentences that both read, see the module docstring.

    Raises:
        ValueError: as `compared_maps`, or there is no sentence.
    """
    tally = CorrelationTally(options.words or not has_same_tokens(first, second))
    batches = compared_maps(first, second, sentences, options)
    with tqdm(total=len(sentences), unit=" sentences", file=sys.stderr, disable=None) as progress:
        for batch in batches:
            for pair in batch:
                tally.add(*pair)
            progress.update(len(batch))
    return tally.result(options.nearest)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    TWO_MODELS.add_arguments(parser)
    parser.add_argument("--input", type=Path, required=True, help="sentences that both models read, one per line")


def _open(options: argparse.Namespace) -> tuple[Translator, Translator, list[str]]:
    sentences = [line for line in split_lines(read_text(options.input)) if line.strip()]
    first, second = TWO_MODELS.open(options)
    return first, second, sentences


NEAREST = Analysis(
    "nearest-heads",
    "print for each head the heads of another model that attend most like it",
    nearest_heads,
    NearestOptions,
    Subject(_add_arguments, _open),
)
