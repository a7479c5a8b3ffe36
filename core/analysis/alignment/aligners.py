"""Word alignments from cross-attention, and their error rate against gold links."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from core.analysis.alignment.pharaoh import GoldLinks, GoldPair, Link
from core.analysis.heads.head import Head
from core.analysis.tokens.words import is_special, word_groups
from core.capture import AttentionMap
from core.tokenizer import SPACE_MARK
from core.translator import Translator

# Row t of the decoder is fed y_(t-1) and predicts y_t. The row of a token is the one that predicts it, or the next one,
# which is fed it (Chen et al. 2020, "Accurate Word Alignment Induction from Neural Machine Translation").
Rows = Literal["predicted", "fed"]
ROWS: tuple[Rows, ...] = ("predicted", "fed")

Split = Callable[[Sequence[str]], Sequence[int | None]]  # tokens -> word index of each; None for special tokens
# source, target -> cross-attention of every layer by some method
CrossMaps = Callable[[Translator, str, str], Sequence[AttentionMap]]


def words_by_spaces(tokens: Sequence[str]) -> list[int | None]:
    """Word index of each token, words separated by spaces as in gold alignments."""
    numbers: list[int | None] = []
    count = 0
    for token in tokens:
        if is_special(token):
            numbers.append(None)
            continue
        if token.startswith(SPACE_MARK) or count == 0:
            count += 1
        numbers.append(count - 1)
    return numbers


def words_as_shown(tokens: Sequence[str]) -> list[int | None]:
    """Word index of each token, words as in `words.word_groups`.

    Punctuation at a word's edge is a separate word; in scripts without spaces each piece is one.
    """
    numbers: list[int | None] = [None] * len(tokens)
    words = (group for group in word_groups(tokens) if not is_special(tokens[group.start]))
    for number, group in enumerate(words):
        numbers[group.start : group.stop] = [number] * len(group)
    return numbers


def word_attention(cross: AttentionMap, rows: Rows = "predicted", split: Split = words_by_spaces) -> Tensor:
    """Attention between words: summed over source pieces, averaged over target pieces.

    Special tokens are left out, so rows need not sum to 1.

    Args:
        cross: cross-attention, or any other method's map of that kind.
        rows: whether the rows of a target word are those that predict its pieces or those that were fed them.
        split: word index of each token.

    Returns:
        [H, target words, source words]

    Raises:
        ValueError: the map is not of cross-attention.
    """
    if cross.kind != "cross" or cross.predicted_tokens is None:
        raise ValueError(f"words are aligned by cross-attention, found {cross.kind}")
    source = _membership(split(cross.key_tokens))  # [S, source words]
    # [T, target words]
    target = _membership(split(cross.predicted_tokens if rows == "predicted" else cross.query_tokens))
    return (target / target.sum(0)).T @ cross.weights @ source


def _membership(numbers: Sequence[int | None]) -> Tensor:
    """[tokens, words]: 1 where a token belongs to a word."""
    words = 1 + max((number for number in numbers if number is not None), default=-1)
    belongs = torch.zeros(len(numbers), words)
    for token, number in enumerate(numbers):
        if number is not None:
            belongs[token, number] = 1
    return belongs


def argmax_links(weights: Tensor) -> frozenset[Link]:
    """Link every target word to the source word with the largest weight.

    Args:
        weights: [target words, source words]; a row of zeros gets no link.
    """
    if not weights.numel():
        return frozenset()
    best, source = weights.max(dim=-1)
    return frozenset(
        (int(word), target) for target, (weight, word) in enumerate(zip(best, source, strict=True)) if weight > 0
    )


@dataclass(frozen=True)
class AlignmentScore:
    """Counts of links against gold links, summed over sentences (Och & Ney 2003).

    A are the predicted links, S the sure and P the possible gold links.

    Attributes:
        sure_hits, possible_hits: |A and S|, |A and P|.
        links, sure: |A|, |S|.
    """

    sure_hits: int = 0
    possible_hits: int = 0
    links: int = 0
    sure: int = 0

    def __add__(self, other: "AlignmentScore") -> "AlignmentScore":
        return AlignmentScore(
            self.sure_hits + other.sure_hits,
            self.possible_hits + other.possible_hits,
            self.links + other.links,
            self.sure + other.sure,
        )

    @property
    def error_rate(self) -> float:
        """AER = 1 - (|A and S| + |A and P|) / (|A| + |S|); 0 if both are empty."""
        return 1 - (self.sure_hits + self.possible_hits) / (self.links + self.sure) if self.links + self.sure else 0.0

    @property
    def precision(self) -> float:
        """|A and P| / |A|; NaN without links."""
        return self.possible_hits / self.links if self.links else float("nan")

    @property
    def recall(self) -> float:
        """|A and S| / |S|; NaN without sure links."""
        return self.sure_hits / self.sure if self.sure else float("nan")


def score_links(links: frozenset[Link], gold: GoldLinks) -> AlignmentScore:
    """Score links against gold links; see `AlignmentScore.error_rate`."""
    return AlignmentScore(len(links & gold.sure), len(links & gold.possible), len(links), len(gold.sure))


@dataclass(frozen=True)
class Aligner:
    """A head or a mean of heads as a word aligner, with its score.

    Attributes:
        layer: from 0; None for the mean over all layers.
        head: from 0; None for the mean over the heads of the layer, and for a layer with one head.
        rows: which decoder rows stand for a target word.
    """

    layer: int | None
    head: int | None
    rows: Rows
    score: AlignmentScore

    def __str__(self) -> str:
        """Display name, counted from 1: `L5 H3`, `L5 mean`, `mean`."""
        layer = "" if self.layer is None else f"L{self.layer + 1} "
        return layer + ("mean" if self.head is None else f"H{self.head + 1}")


class AlignerRanking:
    """Incremental scores of every head, the mean of each layer and the mean of all.

    Each is scored in both row conventions.

    Args:
        split: word index of each token, as in the gold links.
    """

    def __init__(self, split: Split = words_by_spaces) -> None:
        self._split = split
        self._scores: defaultdict[tuple[int | None, int | None, Rows], AlignmentScore] = defaultdict(AlignmentScore)

    def add(self, cross: Sequence[AttentionMap], gold: GoldLinks) -> None:
        """Score one sentence.

        Args:
            cross: the cross-attention of every layer, or another method's maps of that kind.
            gold: gold links between its words.

        Raises:
            ValueError: a link of `gold` is out of range.
        """
        for rows in ROWS:
            means: list[Tensor] = []
            for layer in cross:
                weights = word_attention(layer, rows, self._split)  # [H, target words, source words]
                _check_range(gold, weights)
                means.append(weights.mean(0))
                for head, matrix in enumerate(weights if len(weights) > 1 else ()):
                    self._scores[layer.layer, head, rows] += score_links(argmax_links(matrix), gold)
                self._scores[layer.layer, None, rows] += score_links(argmax_links(means[-1]), gold)
            self._scores[None, None, rows] += score_links(argmax_links(torch.stack(means).mean(0)), gold)

    def replay(self, translator: Translator, pair: GoldPair, cross_maps: CrossMaps | None = None) -> None:
        """Score one sentence pair by forced decoding, so that the gold words are aligned.

        Words that the model has before those of the source, such as a prefix or the code of a language, are left out.

        Args:
            pair: words separated by spaces; several spaces count as one.
            cross_maps: another method than raw attention; see `methods.METHODS`.

        Raises:
            ValueError: as `Translator.explain` and `add`.
        """
        source, target = " ".join(pair.source.split()), " ".join(pair.target.split())
        cross = (
            cross_maps(translator, source, target) if cross_maps else translator.explain(source, target).maps["cross"]
        )
        numbers = words_by_spaces(cross[0].key_tokens)
        surplus = 1 + max((number for number in numbers if number is not None), default=-1) - len(source.split())
        if surplus > 0:
            keys = [key for key, number in enumerate(numbers) if number is None or number >= surplus]
            cross = [layer.select(range(len(layer.query_tokens)), keys) for layer in cross]
        self.add(cross, pair.links)

    def aligners(self) -> list[Aligner]:
        """All aligners, lowest error rate first."""
        found = [Aligner(layer, head, rows, score) for (layer, head, rows), score in self._scores.items()]
        return sorted(found, key=lambda aligner: aligner.score.error_rate)


def rank_aligners(
    translator: Translator, pairs: Iterable[GoldPair], cross_maps: CrossMaps | None = None
) -> list[Aligner]:
    """Rank every cross-attention head as a word aligner on sentences with gold links.

    Args:
        pairs, cross_maps: as for `AlignerRanking.replay`.

    Returns:
        Heads, layer means and the mean of all, lowest alignment error rate first.

    Raises:
        ValueError: as `AlignerRanking.replay`.
    """
    ranking = AlignerRanking()
    for pair in pairs:
        ranking.replay(translator, pair, cross_maps)
    return ranking.aligners()


def head_error_rates(aligners: Iterable[Aligner]) -> Mapping[Head, float]:
    """Alignment error rate of each single head, in its better row convention."""
    found = [aligner for aligner in aligners if aligner.layer is not None]
    many = {aligner.layer for aligner in found if aligner.head is not None}
    best: dict[Head, float] = {}
    for aligner in found:
        if aligner.layer is not None and (aligner.head is not None or aligner.layer not in many):
            head = Head("cross", aligner.layer, aligner.head or 0)
            best[head] = min(aligner.score.error_rate, best.get(head, 1.0))
    return best


def _check_range(gold: GoldLinks, weights: Tensor) -> None:
    target_words, source_words = weights.shape[1:]
    for source, target in gold.possible:
        if source >= source_words or target >= target_words:
            raise ValueError(
                f"the link {source}-{target} is out of range: there are {source_words} source and {target_words} "
                f"target words, counted from 0"
            )
