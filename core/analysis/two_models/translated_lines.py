"""A test set, and the translations of its sentences by two models."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from core.analysis.signs.pair_signs import SignName, pair_signs
from core.analysis.word_scores.scored_lines import WINDOW
from core.files.extras import needs
from core.text.sentences import naming_sentence
from core.text.text_files import TAB, parse_lines, split_lines
from core.translator import Translator


@dataclass(frozen=True)
class TestPair:
    """A sentence of a test set with its reference, and the number of its line, from 1."""

    number: int
    source: str
    reference: str

    __test__ = False  # not a test class for pytest


@dataclass(frozen=True)
class TranslatedPair:
    """The translations of a sentence by two models.

    Attributes:
        first, second: token ids and text of the best translations.
        chrf: of both, from 0 to 100: sacreBLEU's for a single sentence, with its defaults (Popovic 2015).
        signs: values of the signs of a bad translation, each model's of its own: the four that two passes tell; none of
            a model that does not predict one token after the other.
    """

    pair: TestPair
    first: tuple[tuple[int, ...], str]
    second: tuple[tuple[int, ...], str]
    chrf: tuple[float, float]
    signs: tuple[Mapping[SignName, float], Mapping[SignName, float]] = field(default=({}, {}), compare=False)

    @property
    def texts(self) -> tuple[str, str]:
        """Both translations."""
        return self.first[1], self.second[1]

    @property
    def difference(self) -> float:
        """ChrF of the first minus that of the second."""
        return self.chrf[0] - self.chrf[1]


def parse_pairs(text: str, references: str | None = None) -> list[TestPair]:
    """Parse a test set: in each line a source, a tab and its reference, or the references in a text of their own.

    Blank lines are skipped, but counted.

    Raises:
        ValueError: as `parse_lines`; or a sentence has no reference, or the texts have different numbers of lines.
    """
    if references is not None:
        sources, targets = split_lines(text), split_lines(references)
        if len(sources) != len(targets):
            raise ValueError(
                f"there are {len(sources)} sources and {len(targets)} references: expected one reference per source"
            )
        for name, texts in (("source", sources), ("reference", targets)):
            if with_tab := [number for number, line in enumerate(texts, start=1) if TAB in line]:
                raise ValueError(
                    f"{name} {with_tab[0]} has a tab: give references after a tab, or in a text of their own, not both"
                )
        pairs = zip(sources, targets, strict=True)
        text = "\n".join(f"{source}{TAB}{target}" for source, target in pairs)
    parsed: list[TestPair] = []
    for line in parse_lines(text, "reference"):
        if line.target is None:
            raise ValueError(f"line {line.number} has no reference: put a tab and its reference after the source")
        parsed.append(TestPair(line.number, line.source, line.target))
    return parsed


def translate_pairs(
    first: Translator, second: Translator, pairs: Sequence[TestPair], beam_size: int = 4, length_penalty: float = 0.6
) -> Iterator[TranslatedPair]:
    """Translate the sentences of a test set by two models, one after the other, in order.

    Raises:
        ValueError: a sentence cannot be translated; the message names its line.
    """
    with needs("scores", "chrF"):  # here, as the import takes a third of a second
        from sacrebleu.metrics.chrf import CHRF

    chrf = CHRF()
    for start in range(0, len(pairs), WINDOW):
        window = pairs[start : start + WINDOW]
        for pair in window:
            for translator in (first, second):
                with naming_sentence(pair.number, "line"):
                    translator.codec.source_ids(pair.source)
        one, other = (_best(translator, window, beam_size, length_penalty) for translator in (first, second))
        for pair, (mine, my_signs), (theirs, their_signs) in zip(window, one, other, strict=True):
            scores = [chrf.sentence_score(text, [pair.reference]).score for _, text in (mine, theirs)]
            yield TranslatedPair(pair, mine, theirs, (scores[0], scores[1]), (my_signs, their_signs))


def _best(
    translator: Translator, pairs: Sequence[TestPair], beam_size: int, length_penalty: float
) -> list[tuple[tuple[tuple[int, ...], str], Mapping[SignName, float]]]:
    """The best translation of each sentence, and the values of its signs."""
    sources = [pair.source for pair in pairs]
    searched = translator.translate_batch(sources, beam_size, length_penalty)
    best = [(each.hypotheses[0].token_ids, each.hypotheses[0].text) for each in searched]
    if not translator.config.autoregressive:
        return [(each, {}) for each in best]
    signs = pair_signs(translator, [(source, ids) for source, (ids, _) in zip(sources, best, strict=True)])
    return [(each, {name: sign.value for name, sign in found.items()}) for each, found in zip(best, signs, strict=True)]
