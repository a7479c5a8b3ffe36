"""The analysis `score`: the words of a file of sentences, the least probable first, or its sentences by the signs of a
bad translation.
"""

import csv
import io
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tqdm import tqdm

from core.analysis.csv_output import without_formula
from core.analysis.declaration import FIRST, Analysis, Columns, PicturedResult, option
from core.analysis.signs.pair_signs import SIGNS, SignName
from core.analysis.signs.text_signs import TEXT_SIGNS
from core.analysis.signs.thresholds import SignThresholds, known_thresholds, measure_thresholds
from core.analysis.subject import MODEL
from core.analysis.word_scores import signed_lines
from core.analysis.word_scores.remedies import Remedies, flagged, plan, try_settings
from core.analysis.word_scores.scored_lines import (
    WordScore,
    app_query,
    line_query,
    score_lines,
    word_columns,
    worst_words,
)
from core.decoding.states import BEAM_SIZES, LENGTH_PENALTIES
from core.files.console import show
from core.files.file_writing import check_folder_of, file_digest, write_atomically
from core.files.number_range import FROM_1, NumberRange
from core.text.phrases import Number, Phrase, marked
from core.text.text_files import TAB, decode, parse_lines, read_text
from core.trace import Head
from core.translator import Translator

T = TypeVar("T")

NUMBERS = ("log_prob", "probability", *SIGNS)  # columns of texts that would be formulas


def _output(path: Path) -> Path:
    """Check the path of the output before anything is computed."""
    check_folder_of(path)
    return path


@dataclass(frozen=True)
class ScoreOptions:
    """Options of `score`; the digest of the checkpoint is part of the links to the app."""

    checkpoint: Path = option(help="the model")
    input: Path | None = option(
        None,
        "sentences, one per line; after a tab their translations, or else the model's own are scored (default: "
        "standard input)",
    )
    output: Path | None = option(None, "tab-separated values (default: standard output)", flag="-o", parse=_output)
    top: int | None = option(None, "write only the worst N words or sentences", type=FROM_1)
    beam_size: int = option(
        4, "beam size of the search for translations that are not given; 1 is greedy search", type=BEAM_SIZES
    )
    length_penalty: float = option(
        0.6, "exponent of the length penalty of that search; 0 for none", metavar="ALPHA", type=LENGTH_PENALTIES
    )
    signs: bool = option(
        False,
        "write the sentences instead of the words, with the signs of a bad translation, those first on which most fire",
    )
    sort_by: SignName | None = option(
        None, "with --signs, sort by one of them, the strongest first, and name its words"
    )
    left_out: int = option(
        signed_lines.LEFT_OUT_LINES,
        "with --signs, number of sentences, the least probable first, in which source words are left out one after the "
        "other, to find what is not translated: some 50 passes each",
        type=NumberRange(int),
    )
    mend: bool = option(
        False,
        "with --signs, translate the sentences with a sign again with other settings, and name the first that mends it",
    )
    second: Path | None = option(None, "with --mend, a second model that translates them, too", metavar="CHECKPOINT")
    app: str = option("http://localhost:8501", "address of the app, for the links", metavar="URL")


@dataclass(frozen=True)
class ScoredWords(PicturedResult):
    """Words of translations."""

    words: Sequence[WordScore]  # the least probable first
    digest: str  # SHA-256 of the checkpoint, in hexadecimal
    app: str  # address of the app

    def table(self) -> Columns:
        """A row for each word, with a link that shows it in the app; numbers count from 1."""
        return {
            **word_columns(self.words),
            "log_prob": [f"{each.log_prob:.4f}" for each in self.words],
            "probability": [f"{each.probability:.4g}" for each in self.words],
            "link": [f"{self.app.rstrip('/')}/?{app_query(each, self.digest)}" for each in self.words],
        }

    def answer(self, at: Head = FIRST) -> str:
        """The least probable word."""
        if not self.words:
            return Phrase(marked("There is no word."))
        return Phrase(
            marked(
                "\u201c{word}\u201d in line {line} is the least probable word, with a probability of {probability}."
            ),
            word=self.words[0].text,
            line=Number(self.words[0].line.number, ","),
            probability=Number(self.words[0].probability, ".3f"),
        )


@dataclass(frozen=True)
class SignedSentences(PicturedResult):
    """Sentences with the signs of a bad translation.

    Attributes:
        digest, app: as of `ScoredWords`.
    """

    lines: Sequence[signed_lines.SignedLine]  # in the order of the signs
    thresholds: SignThresholds  # from which they fire
    digest: str
    app: str
    by: SignName | None = None  # the sign that they are sorted by, if it is one
    remedies: Remedies | None = None  # what mends them, if that was tried

    def table(self) -> Columns:
        """A row for each sentence: the signs that fire, their words, all values, what mends it if that was tried, and a
        link that marks the words.
        """
        columns = signed_lines.sign_columns(self.lines, self.thresholds, self.by)
        for name in SIGNS:
            columns[name] = ["" if value is None else f"{value:.4f}" for value in columns[name]]
        if self.remedies:
            columns |= self.remedies.of_lines(self.lines)
        words = (each.numbered(each.marked(self.thresholds, self.by)) for each in self.lines)
        queries = (line_query(each.line, self.digest, those) for each, those in zip(self.lines, words, strict=True))
        return {**columns, "link": [f"{self.app.rstrip('/')}/?{query}" for query in queries]}

    def answer(self, at: Head = FIRST) -> str:
        """On how many sentences a sign fires."""
        return Phrase(
            marked("{count} of {sentences} sentences have a sign of a bad translation."),
            count=Number(sum(bool(each.firing(self.thresholds)) for each in self.lines), ","),
            sentences=Number(len(self.lines), ","),
        )

    def summary(self) -> str:
        """The thresholds, and on how many sentences each sign fires."""
        fired = Counter(sign.name for each in self.lines for sign in each.firing(self.thresholds))
        limits = {name: self.thresholds[name] for name in SIGNS}
        known = (f"{name} {fired[name]} (from {value:.2f})" for name, value in limits.items() if value is not None)
        origin = f"the model's own translations of {self.thresholds.sentences} sentences of {self.thresholds.sample}"
        of_model = ", ".join(name for name in SIGNS if name not in TEXT_SIGNS)
        rows = [f"of {len(self.lines)} sentences: {', '.join(known)}; thresholds of {of_model} from {origin}"]
        for name in self.thresholds.withheld() if any(each.line.is_given for each in self.lines) else ():
            share = self.thresholds.share(name, "right")
            reason = "this was not measured" if share is None else f"it fires on {share:.0%} of right ones of people"
            rows.append(f"{name} is not offered for given translations: {reason}")
        if self.remedies and self.remedies.flagged:
            rows.append(self.remedies.answer())
        return "\n".join(rows)


def score(translator: Translator, options: ScoreOptions) -> ScoredWords | SignedSentences:
    """Score the words of all translations of a file, the least probable first, or its sentences by their signs.

    Progress is shown on stderr.

    Raises:
        ValueError: the input is invalid, or an option is one of another that is not given.
        OSError: a file cannot be read.
    """
    for name, needed in (("second", "mend"), ("mend", "signs")):
        if getattr(options, name) and not getattr(options, needed):
            raise ValueError(f"--{name} is an option of --{needed}: give --{needed}, too")
    name = options.input.name if options.input else "standard input"
    text = read_text(options.input) if options.input else decode(sys.stdin.buffer.read(), name)
    try:
        lines = parse_lines(text)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    seconds = {}
    if options.second:  # which is refused before anything is scored
        second = Translator.from_checkpoint(options.second)
        seconds[options.second.stem] = second, known_thresholds(options.second) or measure_thresholds(second)
    digest = file_digest(options.checkpoint)
    scored = score_lines(translator, lines, options.beam_size, options.length_penalty)

    def shown(parts: Iterable[T], total: int) -> Iterable[T]:
        return tqdm(parts, total=total, unit=" sentences", file=sys.stderr)

    if not options.signs:
        return ScoredWords(worst_words(shown(scored, total=len(lines)))[: options.top], digest, options.app)
    thresholds = known_thresholds(options.checkpoint) or measure_thresholds(translator)
    signed = list(shown(signed_lines.sign_lines(translator, scored), total=len(lines)))
    for _ in shown(
        signed_lines.add_left_out(translator, signed, options.left_out), total=min(options.left_out, len(signed))
    ):
        pass
    ranked = signed_lines.ranked_lines(signed, thresholds, options.sort_by)[: options.top]
    remedies = None
    if options.mend:
        planned = plan(signed, thresholds, seconds, options.length_penalty)
        trials = try_settings(translator, planned, thresholds, seconds, options.beam_size)
        remedies = Remedies(flagged(signed, thresholds), [*shown(trials, total=len(planned))])
    return SignedSentences(ranked, thresholds, digest, options.app, options.sort_by, remedies)


def _write(scored: ScoredWords | SignedSentences, options: ScoreOptions) -> None:
    """Write the table as tab-separated values, and what signs fire on stderr."""
    text, columns = io.StringIO(), scored.table()
    writer = csv.writer(text, delimiter=TAB, lineterminator="\n")
    writer.writerow(columns)
    texts = [values if name in NUMBERS else [*map(without_formula, values)] for name, values in columns.items()]
    writer.writerows(zip(*texts, strict=True))
    content = text.getvalue()
    if options.output is None:
        sys.stdout.write(content)
    else:
        write_atomically(options.output, lambda temporary: temporary.write_bytes(content.encode()))
    if isinstance(scored, SignedSentences):
        show(scored.summary())


SCORE = Analysis(
    "score",
    "score the words of a file of sentences, worst first, or its sentences by the signs of a bad translation",
    score,
    ScoreOptions,
    MODEL,
    write=_write,
)
