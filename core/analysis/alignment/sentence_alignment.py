"""One sentence aligned word by word, as people see its words: the links, where a word comes from, and what speaks
against them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from core.analysis.alignment.aligners import (
    Aligner,
    AlignerRanking,
    AlignmentScore,
    Rows,
    argmax_links,
    word_attention,
    words_as_shown,
)
from core.analysis.alignment.coverage import coverage
from core.analysis.alignment.pharaoh import GoldLinks, Link
from core.analysis.attribution.rollout import row_shares
from core.analysis.tokens.words import is_special, word, word_groups
from core.capture import AttentionMap

# Rules of thumb for `WordAlignment.concerns`, in shares of one word's attention or of all of it.
LEFT_OUT = 0.2
ELSEWHERE = 0.5
ONE_WORD = 0.5
MOST_NAMED = 6  # words of a concern

HeadOrMean = tuple[int | None, int | None]  # a layer and a head, from 0; None for the mean over all of them


@dataclass(frozen=True)
class WordAlignment:
    """What one aligner makes of one sentence.

    Attributes:
        source, target: the words, special tokens left out.
        weights: [target words, source words]; what a row lacks of 1 went to special tokens, or (rollout and
            contributions) came from the prefix.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    weights: Tensor

    @cached_property
    def links(self) -> frozenset[Link]:
        """Each target word with the source word it looks at most."""
        return argmax_links(self.weights)

    @cached_property
    def coverage(self) -> tuple[float, ...]:
        """How much attention each source word got from all target words."""
        return tuple(coverage(self.weights).tolist())

    def left_out(self) -> list[int]:
        """Source words, punctuation apart, that got less than `LEFT_OUT` of one target word's attention."""
        return [
            index
            for index, (name, covered) in enumerate(zip(self.source, self.coverage, strict=True))
            if covered < LEFT_OUT and any(character.isalnum() for character in name)
        ]

    def concerns(self) -> list[str]:
        """Why these links may be poor, in whole sentences; empty if nothing speaks against them.

        The first that holds: too little weight to go by, one word that takes it all, words that were left out.
        """
        if not self.weights.numel():
            return []
        total = float(self.weights.sum())
        seen = total / len(self.target)
        if seen < 1 - ELSEWHERE:
            return [
                f"Only {seen:.0%} of the weight goes to words of the source, the rest to special tokens or the "
                f"prefix: little to align by."
            ]
        largest = max(range(len(self.source)), key=self.coverage.__getitem__)
        if len(self.source) > 2 and self.coverage[largest] > ONE_WORD * total:
            share = self.coverage[largest] / total
            return [
                f"\u201c{self.source[largest]}\u201d takes {share:.0%} of all weight: this rests on one word rather "
                f"than aligns."
            ]
        left_out = self.left_out()
        if not left_out:
            return []
        names = ", ".join(
            f"\u201c{self.source[index]}\u201d ({self.coverage[index]:.2f})" for index in left_out[:MOST_NAMED]
        )
        if more := len(left_out[MOST_NAMED:]):
            names += f" and {more} more"
        return [f"Hardly any target word looks at {names}: left out of the translation, or this is no aligner."]


def shown_words(tokens: Sequence[str]) -> tuple[str, ...]:
    """The words that `words_as_shown` numbers, as text."""
    return tuple(
        word(tokens[group.start : group.stop]) for group in word_groups(tokens) if not is_special(tokens[group.start])
    )


def place_name(place: HeadOrMean) -> str:
    """For people, who count from 1: `L5 H3`, `L5 mean`, `mean`; the names of an `Aligner`."""
    return str(Aligner(*place, "predicted", AlignmentScore()))


def places(cross: Sequence[AttentionMap]) -> list[HeadOrMean]:
    """All aligners that there are: the heads and the mean of each layer, and the mean of all."""
    found: list[HeadOrMean] = []
    for layer in cross:
        found += [(layer.layer, head) for head in range(layer.num_heads) if layer.num_heads > 1]
        found.append((layer.layer, None))
    return [*found, (None, None)]


def align_words(cross: Sequence[AttentionMap], place: HeadOrMean, rows: Rows = "predicted") -> WordAlignment:
    """Align a sentence by one head, the mean of a layer, or the mean of all layers.

    Args:
        cross: the cross-attention of every layer, or another method's maps of that kind.

    Raises:
        ValueError: there is no such layer or head.
    """
    layer, head = _require_place(cross, place)
    # of [H, target, source]
    between = [word_attention(each, rows, words_as_shown) for each in cross if layer is None or each.layer == layer]
    weights = torch.stack([heads.mean(0) for heads in between]).mean(0) if head is None else between[0][head]
    asked = cross[0].predicted_tokens or ()
    return WordAlignment(shown_words(cross[0].key_tokens), shown_words(asked), weights)


def token_weights(cross: Sequence[AttentionMap], place: HeadOrMean) -> Tensor:
    """The weights behind such an alignment, between tokens, special ones too: [T, S], each row divided by its sum.

    Raises:
        ValueError: as `align_words`.
    """
    layer, head = _require_place(cross, place)
    chosen = [each.weights for each in cross if layer is None or each.layer == layer]
    return row_shares(torch.stack([heads.mean(0) for heads in chosen]).mean(0) if head is None else chosen[0][head])


def rank_places(cross: Sequence[AttentionMap], gold: GoldLinks) -> list[Aligner]:
    """Every aligner on this one sentence, in both row conventions, the lowest alignment error rate first.

    Raises:
        ValueError: a link points past the words there are.
    """
    ranking = AlignerRanking(words_as_shown)
    ranking.add(cross, gold)
    return ranking.aligners()


def word_shares(shares: Sequence[float], predicted_tokens: Sequence[str]) -> tuple[float, ...]:
    """A number for each predicted token, such as `source_share`, as the mean over the pieces of each shown word."""
    groups = (group for group in word_groups(predicted_tokens) if not is_special(predicted_tokens[group.start]))
    return tuple(sum(shares[group.start : group.stop]) / len(group) for group in groups)


def _require_place(cross: Sequence[AttentionMap], place: HeadOrMean) -> HeadOrMean:
    layer, head = place
    if place not in places(cross):
        raise ValueError(
            f"there is no layer {layer}, head {head} among {len(cross)} layers of {cross[0].num_heads} heads"
        )
    return place
