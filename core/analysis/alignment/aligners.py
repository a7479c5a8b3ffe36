"""Word alignments from cross-attention, and their error rate against gold links."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from core.analysis.alignment.pharaoh import GoldLinks, GoldPair, Link
from core.analysis.tokens.words import text_word_groups, text_words
from core.capture import AttentionMap
from core.trace import Head
from core.translator import Translator

# Row t of the decoder is fed y_(t-1) and predicts y_t. The row of a token is the one that predicts it, or the next one,
# which is fed it (Chen et al. 2020, "Accurate Word Alignment Induction from Neural Machine Translation").
Rows = Literal["predicted", "fed"]
ROWS: tuple[Rows, ...] = ("predicted", "fed")

# source, target -> cross-attention of every layer by some method
CrossMaps = Callable[[Translator, str, str], Sequence[AttentionMap]]


@dataclass(frozen=True)
class TokenWords:
    """Words of a sentence and its translation that tokens belong to."""

    source: Tensor  # [S, source words] share of each token in each word; rows of special tokens are 0
    target: Tensor  # [T, target words] the same of the predicted tokens
    fed: Tensor  # [T, target words] the same of the tokens fed to the decoder


def words_as_shown(tokens: Sequence[str]) -> Tensor:
    """Share of tokens in words as in `words.word_groups`: [tokens, words].

    Punctuation at a word's edge is a separate word; in scripts without spaces each piece is one.
    """
    words = text_word_groups(tokens)
    belongs = torch.zeros(len(tokens), len(words))
    for number, group in enumerate(words):
        belongs[group.start : group.stop, number] = 1
    return belongs


def shown_words_of(cross: AttentionMap) -> TokenWords:
    """Words as they are shown.

    Raises:
        ValueError: the map is not of cross-attention.
    """
    if cross.kind != "cross" or cross.predicted_tokens is None:
        raise ValueError(f"words are aligned by cross-attention, found {cross.kind}")
    return TokenWords(*map(words_as_shown, (cross.key_tokens, cross.predicted_tokens, cross.query_tokens)))


def given_words_of(translator: Translator, source: str, target: str) -> TokenWords:
    """Words as white space separates them, as in gold alignments.

    A token is part of the words whose characters it comes from, however a tokenizer has split or joined them.

    Raises:
        ValueError: as `Translator.explain`.
    """
    sides = (source, translator.codec.source_spans(source)), (target, translator.codec.target_spans(target, source))
    of_source, of_target = (_membership(text_words(text, spans), len(text.split())) for text, spans in sides)
    # A token is fed to the decoder one row after the row that predicts it.
    return TokenWords(of_source, of_target, of_target.roll(1, 0) if len(of_target) else of_target)


def _membership(words: Sequence[range], count: int) -> Tensor:
    """[tokens, words]: shares of each token in its words."""
    belongs = torch.zeros(len(words), count)
    for token, numbers in enumerate(words):
        if numbers:
            belongs[token, numbers.start : numbers.stop] = 1 / len(numbers)
    return belongs


def word_attention(cross: AttentionMap, rows: Rows = "predicted", words: TokenWords | None = None) -> Tensor:
    """Attention between words, summed over source pieces, averaged over target pieces: [H, target words, source words].

    Special tokens are left out, so rows need not sum to 1. A word without tokens has weights of 0. By default the words
    are those that are shown; `cross` may be any method's map of that kind.

    Raises:
        ValueError: the map is not of cross-attention.
    """
    words = words or shown_words_of(cross)
    target = words.target if rows == "predicted" else words.fed
    return (target / target.sum(0).where(target.sum(0) > 0, 1)).T @ cross.weights @ words.source


def argmax_links(weights: Tensor) -> frozenset[Link]:
    """Link target words to the source words with their largest weights [target words, source words], if above 0."""
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
    """

    sure_hits: int = 0  # |A and S|
    possible_hits: int = 0  # |A and P|
    links: int = 0  # |A|
    sure: int = 0  # |S|

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
    """A head or a mean of heads as a word aligner, with its score."""

    layer: int | None  # from 0; None for the mean over all layers
    head: int | None  # from 0; None for the mean over the heads of the layer, and for a layer with one head
    rows: Rows  # which decoder rows stand for a target word
    score: AlignmentScore

    def __str__(self) -> str:
        """Display name, counted from 1: `L5 H3`, `L5 mean`, `mean`."""
        layer = "" if self.layer is None else f"L{self.layer + 1} "
        return layer + ("mean" if self.head is None else f"H{self.head + 1}")


class AlignerRanking:
    """Incremental scores of every head, the mean of each layer and the mean of all, each in both row conventions."""

    def __init__(self) -> None:
        self._scores: defaultdict[tuple[int | None, int | None, Rows], AlignmentScore] = defaultdict(AlignmentScore)

    def add(self, cross: Sequence[AttentionMap], gold: GoldLinks, words: TokenWords | None = None) -> None:
        """Score one sentence by the maps of every layer, of any method, and its words, by default as they are shown.

        Raises:
            ValueError: a link of `gold` is out of range.
        """
        for rows in ROWS:
            means: list[Tensor] = []
            for layer in cross:
                weights = word_attention(layer, rows, words)  # [H, target words, source words]
                _check_range(gold, weights)
                means.append(weights.mean(0))
                for head, matrix in enumerate(weights if len(weights) > 1 else ()):
                    self._scores[layer.layer, head, rows] += score_links(argmax_links(matrix), gold)
                self._scores[layer.layer, None, rows] += score_links(argmax_links(means[-1]), gold)
            self._scores[None, None, rows] += score_links(argmax_links(torch.stack(means).mean(0)), gold)

    def replay(self, translator: Translator, pair: GoldPair, cross_maps: CrossMaps | None = None) -> None:
        """Score one sentence pair by forced decoding, so that the gold words are aligned.

        Args:
            pair: words separated by white space, of which the links have the numbers, whatever the model's tokens are.
            cross_maps: another method than raw attention; see `methods.METHODS`.

        Raises:
            ValueError: as `Translator.explain` and `add`.
        """
        source, target = " ".join(pair.source.split()), " ".join(pair.target.split())
        cross = (
            cross_maps(translator, source, target) if cross_maps else translator.explain(source, target).maps["cross"]
        )
        self.add(cross, pair.links, given_words_of(translator, source, target))

    def aligners(self) -> list[Aligner]:
        """All aligners, lowest error rate first."""
        aligners = [Aligner(layer, head, rows, score) for (layer, head, rows), score in self._scores.items()]
        return sorted(aligners, key=lambda aligner: aligner.score.error_rate)


def rank_aligners(
    translator: Translator, pairs: Iterable[GoldPair], cross_maps: CrossMaps | None = None
) -> list[Aligner]:
    """Rank heads, layer means and the mean of all as word aligners on gold links, lowest alignment error rate first.

    Raises:
        ValueError: as `AlignerRanking.replay`.
    """
    ranking = AlignerRanking()
    for pair in pairs:
        ranking.replay(translator, pair, cross_maps)
    return ranking.aligners()


def head_error_rates(aligners: Iterable[Aligner]) -> Mapping[Head, float]:
    """Alignment error rate of each single head, in its better row convention."""
    of_layers = [aligner for aligner in aligners if aligner.layer is not None]
    many = {aligner.layer for aligner in of_layers if aligner.head is not None}
    best: dict[Head, float] = {}
    for aligner in of_layers:
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
