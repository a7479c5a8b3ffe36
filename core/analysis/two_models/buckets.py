"""Where two models differ: sentences by their length, and words by how often the references have them.

As in compare-mt (Neubig et al. 2019): a difference of the whole may come from long sentences, or from rare words.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from core.analysis.pictures import Cell, Grid
from core.analysis.two_models.translated_lines import TranslatedPair
from core.files.extras import needs
from core.text.bleu_tokenizers import bleu_tokenizer
from core.text.phrases import Number, Phrase, marked

LENGTHS = (10, 20, 30, 40)  # words of a source up to which a bucket reaches
FREQUENCIES = (1, 2, 4, 9, 99)  # occurrences in the references up to which a bucket reaches


@dataclass(frozen=True)
class Bucket:
    """Some sentences, or some words of the references."""

    least: int  # of the words in their sources, or of their occurrences in the references; `most` likewise
    most: int | None  # None in the last bucket
    count: int  # of the sentences, or of the words of the references, each counted as often as it occurs
    # from 0 to 100, as `second`; of sentences chrF of them all, of words the F-measure: the harmonic mean of the share
    # of the references' words that a model has, and of the share of its words that the references have
    first: float
    second: float

    @property
    def name(self) -> str:
        """Its least and its most: `10\u201320`."""
        if self.most is None:
            return f"\u2265 {self.least}"
        return str(self.least) if self.least == self.most else f"{self.least}\u2013{self.most}"


def buckets_grid(buckets: Sequence[Bucket], by: str, score: str, names: Sequence[str]) -> Grid:
    """A grid with the scores of each model, and one row for their difference; `by` is what the buckets count."""
    limit = max(1.0, *(abs(each.first - each.second) for each in buckets), 0.0)

    def cell(value: float, count: int) -> Cell:
        says = Phrase(marked("{value}, of {count}"), value=Number(value, ".1f"), count=Number(count, ","))
        return Cell(text=Number(value, ".1f"), says=says, shade=value / 100)

    def difference(value: float) -> Cell:
        return Cell(text=Number(value, "+.1f"), says=Number(value, "+.2f"), shade=value / limit, scale="diverging")

    return Grid(
        title=Phrase("{score}: {by}", score=score, by=by),
        legend=score,
        ends=("0", "100"),
        columns=[each.name for each in buckets],
        rows=[
            (names[0], [cell(each.first, each.count) for each in buckets]),
            (names[1], [cell(each.second, each.count) for each in buckets]),
            (Phrase(marked("Difference")), [difference(each.first - each.second) for each in buckets]),
        ],
        width=6,
    )


def by_length(lines: Sequence[TranslatedPair]) -> list[Bucket]:
    """Sentences by the number of words of their source; buckets without any are left out."""
    with needs("scores", "chrF"):
        from sacrebleu.metrics.chrf import CHRF

    chrf, grouped = CHRF(), dict[int, list[TranslatedPair]]()
    for line in lines:
        grouped.setdefault(_bucket(len(line.pair.source.split()), LENGTHS), []).append(line)
    buckets: list[Bucket] = []
    for index, group in sorted(grouped.items()):
        references = [[line.pair.reference for line in group]]
        scores = [chrf.corpus_score([line.texts[side] for line in group], references).score for side in (0, 1)]
        buckets.append(Bucket(*_range(index, LENGTHS), len(group), scores[0], scores[1]))
    return buckets


def by_frequency(lines: Sequence[TranslatedPair], language: str = "") -> list[Bucket]:
    """Words of the references by how often they occur in all of them; buckets without any are left out.

    A word is right if the reference of the sentence has it, as often as it does. Words that no reference has are in no
    bucket. They are split as BLEU does for the code of the references' language, see `bleu_tokenizer`.
    """
    with needs("scores", "a count of words as BLEU splits them"):
        from sacrebleu.metrics.bleu import BLEU

    tokenizer = BLEU(tokenize=bleu_tokenizer([line.pair.reference for line in lines], language)).tokenizer
    words = [[Counter(str(tokenizer(text)).split()) for text in (line.pair.reference, *line.texts)] for line in lines]
    frequency = sum((reference for reference, *_ in words), Counter[str]())
    expected, right, written = Counter[int](), [Counter[int](), Counter[int]()], [Counter[int](), Counter[int]()]
    for reference, *translations in words:
        for word, count in reference.items():
            expected[_bucket(frequency[word], FREQUENCIES)] += count
        for side, translation in enumerate(translations):
            for word, count in translation.items():
                if word in frequency:
                    bucket = _bucket(frequency[word], FREQUENCIES)
                    written[side][bucket] += count
                    right[side][bucket] += min(count, reference[word])
    return [
        Bucket(
            *_range(index, FREQUENCIES),
            expected[index],
            *(200 * right[side][index] / (expected[index] + written[side][index]) for side in (0, 1)),
        )
        for index in sorted(expected)
    ]


def _bucket(value: int, edges: Sequence[int]) -> int:
    """Number of the bucket of a value: that of the first edge that is not below it."""
    return sum(value > edge for edge in edges)


def _range(index: int, edges: Sequence[int]) -> tuple[int, int | None]:
    """Least and most of a bucket."""
    bounds = (0, *edges, math.inf)
    least = max(int(bounds[index]) + 1, 1)
    return least, None if index == len(edges) else edges[index]
