"""The analysis `score`: the words of a file of sentences, the least probable first."""

import csv
import hashlib
import io
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from core.analysis.csv_output import without_formula
from core.analysis.declaration import Analysis, Columns, option
from core.analysis.subject import MODEL
from core.analysis.word_scores.scored_lines import TAB, WordScore, app_query, parse_lines, score_lines, worst_words
from core.files.file_writing import check_folder_of, write_atomically
from core.text.text_files import decode
from core.translator import Translator


def _output(path: Path) -> Path:
    """Check the path of the output before anything is computed.

    Raises:
        ValueError, OSError: it cannot be written.
    """
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
        metavar="FILE",
    )
    output: Path | None = option(
        None, "tab-separated values (default: standard output)", metavar="FILE", flag="-o", parse=_output
    )
    top: int | None = option(
        None, "write only the worst N words", metavar="N", minimum=1, counts="the number of words to write"
    )
    beam_size: int = option(
        4,
        "beam size of the search for translations that are not given; 1 is greedy search (default: %(default)s)",
        metavar="N",
    )
    length_penalty: float = option(
        0.6, "exponent of the length penalty of that search; 0 for none (default: %(default)s)", metavar="ALPHA"
    )
    app: str = option(
        "http://localhost:8501", "address of the app, for the links (default: %(default)s)", metavar="URL"
    )


@dataclass(frozen=True)
class ScoredWords:
    """Words of translations.

    Attributes:
        words: the least probable first.
        digest: SHA-256 of the checkpoint, in hexadecimal.
        app: address of the app.
    """

    words: Sequence[WordScore]
    digest: str
    app: str

    def table(self) -> Columns:
        """A row for each word, with a link that shows it in the app; numbers count from 1."""
        return {
            "log_prob": [f"{each.log_prob:.4f}" for each in self.words],
            "probability": [f"{each.probability:.4g}" for each in self.words],
            "word": [each.text for each in self.words],
            "line": [each.line.number for each in self.words],
            "number": [each.number for each in self.words],
            "source": [each.line.source for each in self.words],
            "translation": [each.line.target.text for each in self.words],
            "link": [f"{self.app.rstrip('/')}/?{app_query(each, self.digest)}" for each in self.words],
        }


def score(translator: Translator, options: ScoreOptions) -> ScoredWords:
    """Score the words of all translations of a file, the least probable first.

    Progress is shown on stderr.

    Raises:
        ValueError: the input is invalid.
        OSError: a file cannot be read.
    """
    name, content = (
        (options.input.name, options.input.read_bytes())
        if options.input
        else ("standard input", sys.stdin.buffer.read())
    )
    sentences = decode(content, name)
    try:
        lines = parse_lines(sentences)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    with open(options.checkpoint, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    scored = score_lines(translator, lines, options.beam_size, options.length_penalty)
    words = worst_words(tqdm(scored, total=len(lines), unit=" sentences", file=sys.stderr))[: options.top]
    return ScoredWords(words, digest, options.app)


def _write(words: ScoredWords, options: ScoreOptions) -> None:
    """Write the table as tab-separated values.

    Raises:
        OSError: the file cannot be written.
    """
    text, columns = io.StringIO(), words.table()
    writer = csv.writer(text, delimiter=TAB, lineterminator="\n")
    writer.writerow(columns)
    # the numbers are texts already: a log-probability would be a formula
    texts = [
        values if name in ("log_prob", "probability") else [*map(without_formula, values)]
        for name, values in columns.items()
    ]
    writer.writerows(zip(*texts, strict=True))
    content = text.getvalue()
    if options.output is None:
        sys.stdout.write(content)
    else:
        write_atomically(options.output, lambda temporary: temporary.write_bytes(content.encode()))


SCORE = Analysis(
    "score", "score the words of a file of sentences, worst first", score, ScoreOptions, MODEL, write=_write
)
