"""Alignment of one sentence by words as displayed: links, coverage, and concerns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import torch
from torch import Tensor

from core.analysis.alignment.aligners import (
    Aligner,
    AlignerRanking,
    AlignmentScore,
    Rows,
    argmax_links,
    shown_words_of,
    word_attention,
)
from core.analysis.alignment.coverage import coverage
from core.analysis.alignment.pharaoh import GoldLinks, Link
from core.analysis.attribution.rollout import row_shares
from core.analysis.tokens.words import is_special, text_word_groups, word_groups, word_labels
from core.capture import AttentionMap
from core.files.tabular import as_columns
from core.text.phrases import Number, Phrase, listed, marked

# Thresholds of `WordAlignment`; rules of thumb.
LEFT_OUT = 0.2  # coverage of a source word; 1 is the attention of one target word
ELSEWHERE = 0.5  # share of weight that is not on source words
ONE_WORD = 0.5  # share of weight on one source word
MOST_NAMED = 6  # words named as left out

HeadOrMean = tuple[int | None, int | None]  # layer and head, from 0; None for the mean over all of them


@dataclass(frozen=True)
class WordAlignment:
    """Alignment of one sentence by one aligner."""

    source: tuple[str, ...]  # the words, without special tokens, as of `target`
    target: tuple[str, ...]
    weights: Tensor  # [target words, source words]; the rest is on special tokens or (rollout, contributions) prefix

    @cached_property
    def links(self) -> frozenset[Link]:
        """Each target word linked to the source word with the largest weight."""
        return argmax_links(self.weights)

    @cached_property
    def coverage(self) -> tuple[float, ...]:
        """Attention that each source word receives from all target words."""
        return tuple(coverage(self.weights).tolist())

    def table(self, gold: GoldLinks) -> dict[str, list[Any]]:
        """A row for each pair of words, from 0: its weight, whether it is a link, and "sure", "possible" or ""."""
        rows: list[tuple[object, ...]] = []
        for (target, target_word), (source, word) in product(enumerate(self.target), enumerate(self.source)):
            pair, weight = (source, target), float(self.weights[target, source])
            link = "sure" if pair in gold.sure else "possible" if pair in gold.possible else ""
            rows.append((target, target_word, source, word, weight, pair in self.links, link))
        names = "target_position", "target", "source_position", "source", "weight", "link", "gold"
        return as_columns(names, rows)

    def target_table(self, shares: Sequence[float]) -> dict[str, Sequence[Any]]:
        """A row for each target word: its link with its weight and, if known, its shares from source and prefix."""
        best = {target: self.source[source] for source, target in self.links}
        columns: dict[str, Sequence[Any]] = {
            "target": self.target,
            "looks_at": [best.get(index, "") for index in range(len(self.target))],
            "weight": [max(row) if index in best else 0.0 for index, row in enumerate(self.weights.tolist())],
        }
        return {**columns, "from_source": shares, "from_prefix": [1 - each for each in shares]} if shares else columns

    def source_table(self) -> dict[str, Sequence[Any]]:
        """A row for each source word: the attention from all target words, and the words linked to it."""
        linked = [
            " ".join(self.target[target] for source, target in sorted(self.links) if source == index)
            for index in range(len(self.source))
        ]
        return {"source": self.source, "coverage": self.coverage, "linked_to": linked}

    def left_out(self) -> list[int]:
        """Source words, punctuation excluded, with coverage below `LEFT_OUT`."""
        return [
            index
            for index, (name, covered) in enumerate(zip(self.source, self.coverage, strict=True))
            if covered < LEFT_OUT and any(character.isalnum() for character in name)
        ]

    def concerns(self) -> list[Phrase]:
        """Reasons to doubt these links, as sentences; empty if there are none.

        The first that applies: too little weight on words, one word with most of the weight. Words that are left out
        are no concern, see `left_out_note`: half of the sentences have one, whatever the head.
        """
        if not self.weights.numel():
            return []
        total = float(self.weights.sum())
        seen = total / len(self.target)
        if seen < 1 - ELSEWHERE:
            concern = Phrase(
                "Only {share} of the weight is on source words, the rest on special tokens or the prefix: too little "
                "for an alignment.",
                share=Number(seen, ".0%"),
            )
            return [concern]
        largest = max(range(len(self.source)), key=self.coverage.__getitem__)
        if len(self.source) > 2 and self.coverage[largest] > ONE_WORD * total:
            concern = Phrase(
                "\u201c{word}\u201d has {share} of all weight: the head attends to one word rather than aligning "
                "words.",
                word=self.source[largest],
                share=Number(self.coverage[largest] / total, ".0%"),
            )
            return [concern]
        return []

    def left_out_note(self) -> Phrase | None:
        """Name the words of `left_out` with their coverage, as a sentence; None if there are none."""
        left_out = self.left_out()
        if not left_out:
            return None
        names = listed(
            [
                Phrase(
                    "\u201c{word}\u201d ({coverage})",
                    word=self.source[index],
                    coverage=Number(self.coverage[index], ".2f"),
                )
                for index in left_out[:MOST_NAMED]
            ]
        )
        if more := len(left_out[MOST_NAMED:]):
            names = Phrase("{names} and {count} more", names=names, count=str(more))
        return Phrase(
            "Little attention: {names}. Function words often get little; any other may not be translated.", names=names
        )


def shown_words(tokens: Sequence[str]) -> tuple[str, ...]:
    """The words of `aligners.words_as_shown`, as text."""
    labels = dict(zip(word_groups(tokens), word_labels(tokens), strict=True))
    return tuple(labels[group] for group in text_word_groups(tokens))


def aligner_name(place: HeadOrMean) -> str:
    """Display name, counted from 1: `L5 H3`, `L5 mean`, `mean`, as for `Aligner`."""
    return str(Aligner(*place, "predicted", AlignmentScore()))


def aligner_title(place: HeadOrMean) -> Phrase:
    """The same for readers of any language."""
    return Phrase(aligner_name(place).replace("mean", "{mean}"), mean=Phrase(marked("mean")))


def all_aligners(cross: Sequence[AttentionMap]) -> list[HeadOrMean]:
    """All aligners: the heads and the mean of each layer, and the mean of all."""
    aligners: list[HeadOrMean] = []
    for layer in cross:
        aligners += [(layer.layer, head) for head in range(layer.num_heads) if layer.num_heads > 1]
        aligners.append((layer.layer, None))
    return [*aligners, (None, None)]


def align_words(cross: Sequence[AttentionMap], place: HeadOrMean, rows: Rows = "predicted") -> WordAlignment:
    """Align a sentence by a head or by the mean of a layer or of all, by the cross-attention maps of any method.

    Raises:
        ValueError: there is no such layer or head.
    """
    words = shown_words_of(cross[0])  # the same of all layers
    weights = _weights(cross, place, lambda layer: word_attention(layer, rows, words))
    return WordAlignment(shown_words(cross[0].key_tokens), shown_words(cross[0].row_tokens), weights)


def token_weights(cross: Sequence[AttentionMap], place: HeadOrMean) -> Tensor:
    """Weights of an aligner between tokens, special ones included, each row divided by its sum: [T, S].

    Raises:
        ValueError: as `align_words`.
    """
    return row_shares(_weights(cross, place, lambda layer: layer.weights))


def rank_sentence(cross: Sequence[AttentionMap], gold: GoldLinks) -> list[Aligner]:
    """Score every aligner on this sentence in both row conventions, lowest alignment error rate first.

    Raises:
        ValueError: a link is out of range.
    """
    ranking = AlignerRanking()
    ranking.add(cross, gold)
    return ranking.aligners()


def word_shares(shares: Sequence[float], predicted_tokens: Sequence[str]) -> tuple[float, ...]:
    """Mean of a number per predicted token, such as `source_share`, over each word."""
    groups = (group for group in word_groups(predicted_tokens) if not is_special(predicted_tokens[group.start]))
    return tuple(sum(shares[group.start : group.stop]) / len(group) for group in groups)


def _weights(cross: Sequence[AttentionMap], place: HeadOrMean, of_layer: Callable[[AttentionMap], Tensor]) -> Tensor:
    """Weights [target, source] of one aligner; `of_layer` returns those of a layer, [H, target, source]."""
    layer, head = place
    if place not in all_aligners(cross):
        raise ValueError(
            f"there is no layer {layer}, head {head} among {len(cross)} layers of {cross[0].num_heads} heads"
        )
    selected = [of_layer(each) for each in cross if layer is None or each.layer == layer]
    return torch.stack([heads.mean(0) for heads in selected]).mean(0) if head is None else selected[0][head]
