"""The analysis `compare`: the translations of two models over a test set."""

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

from tqdm import tqdm

from core.analysis.declaration import Analysis, Columns, PicturedResult, option
from core.analysis.pictures import Grid
from core.analysis.signs.pair_signs import SIGNS, SignName
from core.analysis.signs.thresholds import UNMEASURED, SignThresholds, known_thresholds
from core.analysis.subject import TWO_MODELS
from core.analysis.two_models.buckets import Bucket, buckets_grid, by_frequency, by_length
from core.analysis.two_models.paired_scores import PairedScore, PairedTestName, paired_scores
from core.analysis.two_models.translated_lines import TestPair, TranslatedPair, parse_pairs, translate_pairs
from core.decoding.states import BEAM_SIZES, LENGTH_PENALTIES
from core.files.number_range import NumberRange
from core.files.tabular import as_columns
from core.text.phrases import Number, Phrase, marked
from core.text.text_files import decode, read_text
from core.trace import Head
from core.translator import Translator

COUNTED: tuple[SignName, ...] = tuple(name for name in SIGNS if name != "left_out")
MARK = 0.05  # p-value below which the summary says that a difference is significant


@dataclass(frozen=True)
class CompareOptions:
    """Options of `compare`; beside the checkpoints are the thresholds of their signs."""

    checkpoint: Path | None = option(None)
    other: Path | None = option(None)
    input: Path | None = option(
        None,
        "test set: in each line a source, a tab and its reference, or the source alone with --references (default: "
        "standard input)",
    )
    references: Path | None = option(None, "the references, one per line")
    test: PairedTestName = option("bootstrap", "paired test of the difference")
    samples: int | None = option(
        None,
        "resamples of the test (default: 1,000 of a bootstrap, 10,000 trials of a randomization)",
        type=NumberRange(int, 1, 10**6),
    )
    language: str = option(
        "", "code of the references' language, such as zh, for the words of BLEU (default: by their script)"
    )
    beam_size: int = option(4, "beam size of the searches; 1 is greedy search", type=BEAM_SIZES)
    length_penalty: float = option(
        0.6, "exponent of the length penalty; 0 for none", metavar="ALPHA", type=LENGTH_PENALTIES
    )


@dataclass(frozen=True)
class SignCount:
    """The sentences on which a sign of a bad translation fires, of each model by its own threshold."""

    sign: SignName
    first: int | None  # None of a model without a threshold, as `second`
    second: int | None


@dataclass(frozen=True)
class ComparedModels(PicturedResult):
    """Two models over a test set."""

    lines: tuple[TranslatedPair, ...]  # in the order of the test set
    scores: tuple[PairedScore, ...]  # of all of them
    lengths: tuple[Bucket, ...]
    frequencies: tuple[Bucket, ...]
    # without the left-out words, for which every word of every source would have to be left out in turn
    signs: tuple[SignCount, ...] = ()
    # of the models in pictures
    names: tuple[str, str] = (Phrase(marked("first model")), Phrase(marked("second model")))

    @property
    def ranked(self) -> list[TranslatedPair]:
        """The sentences, those first that the first model translates better, by chrF."""
        return sorted(self.lines, key=lambda line: -line.difference)

    def table(self) -> Columns:
        """A row for each of the `ranked` sentences; lines count from 1."""
        rows = (
            (line.difference, *line.chrf, line.pair.number, line.pair.source, line.pair.reference, *line.texts)
            for line in self.ranked
        )
        names = "difference", "first_chrf", "second_chrf", "line", "source", "reference", "first", "second"
        return as_columns(names, rows)

    def scores_table(self) -> Columns:
        """A row for each metric."""
        return {name: [getattr(each, name) for each in self.scores] for name in PairedScore.__dataclass_fields__}

    def buckets_table(self) -> Columns:
        """A row for each bucket of sentences, then of words."""
        rows = [("words in the source", *astuple(each)) for each in self.lengths]
        rows += [("occurrences in the references", *astuple(each)) for each in self.frequencies]
        return as_columns(("by", *Bucket.__dataclass_fields__), rows)

    def signs_table(self) -> Columns:
        """A row for each sign."""
        return {name: [getattr(each, name) for each in self.signs] for name in SignCount.__dataclass_fields__}

    def pictures(self, at: Head | None = None) -> tuple[Grid, ...]:
        """The buckets of sentences, and those of words."""
        words, occurrences = marked("words in the source"), marked("occurrences of a word in the references")
        return (
            buckets_grid(self.lengths, Phrase(words), Phrase(marked("chrF")), self.names),
            buckets_grid(self.frequencies, Phrase(occurrences), Phrase(marked("F-measure")), self.names),
        )

    def answer(self, at: Head | None = None) -> Phrase:
        """The model that is better by the first metric, and whether other sentences would say the same."""
        score = self.scores[0]
        (high, better), (low, worse) = sorted(
            zip((score.first, score.second), self.names, strict=True), key=lambda each: -each[0]
        )
        words = marked("By {metric}, it is open which is better: {better} has {high}, {worse} {low}, p = {p_value}.")
        if score.p_value < MARK:
            words = marked("By {metric}, {better} is better than {worse}: {high} to {low}, p = {p_value}.")
        values = {"metric": score.metric, "better": better, "worse": worse, "p_value": Number(score.p_value, ".4f")}
        return Phrase(words, high=Number(high, ".2f"), low=Number(low, ".2f"), **values)

    def summary(self) -> str:
        """The scores and the buckets, for people."""
        same = sum(one == other for one, other in (line.texts for line in self.lines))
        rows = [f"{len(self.lines)} sentences, {same} with the same translation; first and second model"]
        for each in self.scores:
            alike = ", equal" if each.first == each.second else ", which other sentences might turn round"
            verdict = "" if each.p_value < MARK else alike
            rows += [
                f"  {each.metric:<6}{each.first:6.2f} \u00b1 {each.first_interval:.2f}  {each.second:6.2f} \u00b1 "
                f"{each.second_interval:.2f}  p = {each.p_value:.4f}{verdict}",
                f"        {each.signature}",
            ]
        for title, buckets in (
            ("chrF by words in the source", self.lengths),
            ("F-measure of words by their occurrences in the references", self.frequencies),
        ):
            rows += [
                title,
                *(f"  {each.name:<8}{each.first:6.1f}{each.second:8.1f}  of {each.count}" for each in buckets),
            ]
        rows.append("sentences with a sign of a bad translation (-: the model has no threshold for it)")
        for each in self.signs:
            counts = ["-" if count is None else str(count) for count in (each.first, each.second)]
            rows.append(f"  {each.sign:<12}{counts[0]:>4}{counts[1]:>8}")
        return "\n".join(rows)


Thresholds = tuple[SignThresholds | None, SignThresholds | None]


def compared(
    lines: Iterable[TranslatedPair], options: CompareOptions = CompareOptions(), thresholds: Thresholds = (None, None)
) -> ComparedModels:
    """Score the translations of two models, with the thresholds of the signs of both.

    Raises:
        ValueError: there are none.
    """
    lines = tuple(lines)
    first, second = ([line.texts[side] for line in lines] for side in (0, 1))
    references = [line.pair.reference for line in lines]
    scores = paired_scores(first, second, references, options.test, options.samples, options.language)
    signs = [SignCount(name, *(_fired(lines, side, name, thresholds[side]) for side in (0, 1))) for name in COUNTED]
    frequencies = by_frequency(lines, options.language)
    return ComparedModels(lines, tuple(scores), tuple(by_length(lines)), tuple(frequencies), tuple(signs))


def _fired(lines: Sequence[TranslatedPair], side: int, name: SignName, thresholds: SignThresholds | None) -> int | None:
    """The number of sentences on which a sign fires; None without a threshold."""
    threshold = (thresholds or UNMEASURED)[name]
    if threshold is None or not any(line.signs[side] for line in lines):
        return None
    return sum(line.signs[side].get(name, -math.inf) >= threshold for line in lines)


def compare_models(first: Translator, second: Translator, options: CompareOptions) -> ComparedModels:
    """Translate a test set by two models, and compare them; progress is shown on stderr.

    Raises:
        ValueError: the test set is invalid, or as `translate_pairs` or `load_thresholds`.
        OSError: a file cannot be read.
    """
    pairs, thresholds = _read(options), (known_thresholds(options.checkpoint), known_thresholds(options.other))
    lines = translate_pairs(first, second, pairs, options.beam_size, options.length_penalty)
    return compared(tqdm(lines, total=len(pairs), unit=" sentences", file=sys.stderr), options, thresholds)


def _read(options: CompareOptions) -> list[TestPair]:
    name = options.input.name if options.input else "standard input"
    text = read_text(options.input) if options.input else decode(sys.stdin.buffer.read(), name)
    try:
        return parse_pairs(text, read_text(options.references) if options.references else None)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


COMPARE = Analysis(
    "compare", "compare the translations of two models over a test set", compare_models, CompareOptions, TWO_MODELS
)
