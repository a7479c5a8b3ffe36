"""The head to show first for a sentence, and the words that a head links there.

Of the heads of cross-attention, the first is the one whose links agree most with the consensus c of the heads in the
upper half of the layers (the lower ones mostly know the word that was fed, not the one to predict),

    c_ts = m_ts / sqrt(sum_t m_ts),    m = mean of their weights between words.

The root makes words count less that attract many rows in most heads. A link on which a head agrees counts by the root
of its weight: of heads that agree on about as many words, the sharper one comes first. Weights that are recorded anyway
suffice, so there is no second pass. `docs/measurements/first_head.py` compares this choice with others; for the
shipped `en-de` on 400 sentences of Tatoeba, and 100 of Europarl with gold links,

    python docs/measurements/first_head.py --sentences en-de.dev.en.xz \
        --gold europarl100.en europarl100.de europarl100.en-de.align

    first head of a sentence              links as ALTI's  below half  doubted  gold AER
    most confident, less its sinks        0.66             14.2 %      17.8 %   0.50
    the best single head for all          0.78             1.8 %       6.0 %    0.52
    agrees most with the consensus        0.86             0.5 %       1.8 %    0.46
    agrees most with ALTI (another pass)  0.95             0.0 %       5.2 %    0.49

ALTI are the rolled-out contributions of `attribution.alti`; "below half" is the share of sentences in which fewer than
half of the links are ALTI's, "doubted" that with a concern of `WordAlignment.concerns`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from statistics import median_low

import torch
from torch import Tensor

from core.analysis.alignment.aligners import shown_words_of, word_attention
from core.analysis.alignment.sentence_alignment import WordAlignment, aligner_title, shown_words
from core.analysis.heads.head import Maps
from core.analysis.heads.scorecards import ScoreCard
from core.analysis.heads.scorer import Frequencies, Scorer, score_cards
from core.capture import AttentionMap
from core.text.phrases import Phrase, marked
from core.trace import Head

MOST = 0.5  # a word with more than this share of a row has more of the weight than all others together
MAX_PAIRS = 3


@dataclass(frozen=True)
class HeadLinks:
    """Links of one head of cross-attention in one sentence, punctuation left out."""

    # up to `MAX_PAIRS` informative links, as target word and source word, in the order of the target
    pairs: tuple[tuple[str, str], ...]
    agreeing: int  # number of target words that the head links as the consensus does
    words: int  # number of target words


def first_head(maps: Sequence[AttentionMap]) -> Head:
    """The head to show first, by the maps of all layers of one kind, with all tokens.

    In cross-attention the one that agrees most with the consensus, see the module docstring. In self-attention, where
    there are no links, the one with the largest confidence times its weight on tokens other than sinks.
    """
    if maps[0].kind != "cross":
        return max(score_cards([{maps[0].kind: maps}]), key=_confidence_off_sinks).head
    weights, chosen = ContentWords(maps[0]).weights(maps)
    ranks = {
        Head("cross", layer.layer, head): float(((_links(matrix) == chosen) * _largest(matrix).sqrt()).sum())
        for layer, heads in zip(maps, weights, strict=True)
        for head, matrix in enumerate(heads)
    }
    return max(ranks, key=ranks.__getitem__)


class AgreementScorer(Scorer):
    """A `Scorer` whose cards of cross-attention have the agreement with the consensus, too.

    That is the share of target words, punctuation left out, that the head links as the consensus does.
    """

    def __init__(self, frequencies: Frequencies | None = None) -> None:
        super().__init__(frequencies)
        self._agreeing: Counter[Head] = Counter()
        self._words = 0

    def add(self, maps: Maps) -> None:
        """Count one more sentence of the same model."""
        super().add(maps)
        if "cross" not in maps:
            return
        content = ContentWords(maps["cross"][0])
        self._words += len(content.rows)
        for layer, heads in zip(maps["cross"], content.agreeing(maps["cross"]), strict=True):
            for head, agreeing in enumerate(heads.tolist()):
                self._agreeing[Head("cross", layer.layer, head)] += agreeing

    def cards(self, alignment_error_rates: Mapping[Head, float] | None = None) -> list[ScoreCard]:
        """One card per head, over all sentences added so far."""
        return [
            replace(card, agreement=self._agreeing[card.head] / self._words)
            if self._words and card.head.kind == "cross"
            else card
            for card in super().cards(alignment_error_rates)
        ]


def cards_of(sentences: Sequence[Maps], frequencies: Frequencies | None = None) -> tuple[ScoreCard, ...]:
    """Score-cards with the agreement of cross-attention heads."""
    scorer = AgreementScorer(frequencies)
    for maps in sentences:
        scorer.add(maps)
    return tuple(scorer.cards())


def head_links(cross: Sequence[AttentionMap], layer: int, head: int) -> HeadLinks:
    """Words that a head, counted from 0, links in a sentence, by the cross-attention of all layers with all tokens.

    The pairs are of words that get more than half of their row's weight, if possible links on which the head agrees
    with the consensus. Each source word has one pair, its heaviest, even if the sentence repeats it. Of these, the
    longest target words are kept, as frequent words, with little content, are short (Zipf 1935).
    """
    weights, chosen = ContentWords(cross[0]).weights(cross)
    index = next(number for number, each in enumerate(cross) if each.layer == layer)
    matrix = weights[index][head]  # [target words, source words]
    source, target = shown_words(cross[0].key_tokens), _content(shown_words(cross[0].row_tokens))
    links, weight, agrees = _links(matrix).tolist(), _largest(matrix).tolist(), _links(matrix) == chosen
    rows = [row for row in range(len(links)) if weight[row] > MOST and any(map(str.isalnum, source[links[row]]))]
    heaviest: dict[str, tuple[float, int]] = {}
    for row in [row for row in rows if agrees[row]] or rows:
        word = source[links[row]]
        heaviest[word] = max(heaviest.get(word, (0.0, 0)), (weight[row], row))
    rows = sorted((row for _, row in heaviest.values()), key=lambda row: -len(target[row][1]))[:MAX_PAIRS]
    return HeadLinks(
        pairs=tuple((target[row][1], source[links[row]]) for row in sorted(rows)),
        agreeing=int(agrees.sum()),
        words=len(target),
    )


def aligner_answer(cross: Sequence[AttentionMap], shown: WordAlignment) -> Phrase:
    """How well the first head aligns, beside the median head, and how many source words the aligner shown links."""
    first, content = first_head(cross), ContentWords(cross[0])
    counts = {layer.layer: heads.tolist() for layer, heads in zip(cross, content.agreeing(cross), strict=True)}
    source = {at for at, _ in _content(shown.source)}
    numbers = {"agreeing": counts[first.layer][first.head], "words": len(content.rows), "source": len(source)}
    numbers |= {
        "median": median_low(chain(*counts.values())),
        "linked": len(source & {each for each, _ in shown.links}),
    }
    return Phrase(
        marked(
            "{head} aligns best: it links {agreeing} of {words} words like the other heads, the median head {median}; "
            "{linked} of {source} source words have a link."
        ),
        head=aligner_title((first.layer, first.head if len(counts[first.layer]) > 1 else None)),
        **{name: str(number) for name, number in numbers.items()},
    )


class ContentWords:
    """Words that are linked in a sentence, those of the target without punctuation, whatever the weights.

    `rows` are those of the target words; a translation of punctuation only keeps all.
    """

    def __init__(self, cross: AttentionMap) -> None:
        self.rows = [position for position, _ in _content(shown_words(cross.row_tokens))]
        self._words = shown_words_of(cross)

    def weights(self, cross: Sequence[AttentionMap]) -> tuple[list[Tensor], Tensor]:
        """Weights [H, target words, source words] of each layer; the source word the consensus links to each target."""
        weights = [word_attention(layer, words=self._words) for layer in cross]
        return [heads[:, self.rows] for heads in weights], _links(_consensus(weights)[self.rows])

    def agreeing(self, cross: Sequence[AttentionMap]) -> list[Tensor]:
        """Number of target words that each head links as the consensus does: [H] for every layer."""
        weights, chosen = self.weights(cross)
        return [(_links(heads) == chosen).sum(-1) for heads in weights]


def consensus(cross: Sequence[AttentionMap]) -> Tensor:
    """The consensus of the module docstring, between words: [target words, source words]."""
    words = shown_words_of(cross[0])
    return _consensus([word_attention(layer, words=words) for layer in cross])


def _consensus(weights: Sequence[Tensor]) -> Tensor:
    mean = torch.cat([*weights[len(weights) // 2 :]]).mean(0)
    return mean / mean.sum(0).clamp_min(torch.finfo(mean.dtype).tiny).sqrt()


def _links(weights: Tensor) -> Tensor:
    """Source word with the largest weight for each target word; -1 if the source has no words."""
    return weights.argmax(-1) if weights.size(-1) else torch.full(weights.shape[:-1], -1)


def _largest(weights: Tensor) -> Tensor:
    """Largest weight of each target word; 0 if the source has no words."""
    return weights.amax(-1) if weights.size(-1) else weights.new_zeros(weights.shape[:-1])


def _content(words: Sequence[str]) -> list[tuple[int, str]]:
    """Words with letters or digits and their positions; all words if there are none."""
    return [(at, word) for at, word in enumerate(words) if any(map(str.isalnum, word))] or list(enumerate(words))


def _confidence_off_sinks(card: ScoreCard) -> float:
    return card.confidence * (1 - card.sink_share) if card.num_tokens else 0.0
