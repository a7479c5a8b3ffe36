"""`python -m core score`: score a file of sentences, worst words first."""

import argparse
import csv
import hashlib
import io
import itertools
import sys
from pathlib import Path
from typing import TextIO

from tqdm import tqdm

from core.analysis.csv_output import without_formula
from core.analysis.word_scores.scored_lines import TAB, WordScore, app_query, parse_lines, score_lines, worst_words
from core.files.file_writing import check_folder_of, write_atomically
from core.text.text_files import decode
from core.translator import Translator

COLUMNS = ("log_prob", "probability", "word", "line", "number", "source", "translation", "link")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `score` to a parser."""
    parser.add_argument("--checkpoint", type=Path, required=True, metavar="FILE", help="the model")
    parser.add_argument(
        "--input",
        type=Path,
        metavar="FILE",
        help="sentences, one per line; after a tab their translations, or else the model's own are scored (default: "
        "standard input)",
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="tab-separated values (default: standard output)"
    )
    parser.add_argument("--top", type=int, metavar="N", help="write only the worst N words")
    parser.add_argument(
        "--beam-size",
        type=int,
        default=4,
        metavar="N",
        help="beam size of the search for translations that are not given; 1 is greedy search (default: %(default)s)",
    )
    parser.add_argument(
        "--length-penalty",
        type=float,
        default=0.6,
        metavar="ALPHA",
        help="exponent of the length penalty of that search; 0 for none (default: %(default)s)",
    )
    parser.add_argument(
        "--app",
        default="http://localhost:8501",
        metavar="URL",
        help="address of the app, for the links (default: %(default)s)",
    )


def run(arguments: argparse.Namespace, output: TextIO | None = None) -> None:
    """Write the words of all translations, the least probable first.

    Progress is shown on stderr.

    Raises:
        ValueError: an option is out of range, or the input is invalid.
        OSError: a file cannot be read or written.
    """
    if arguments.top is not None and arguments.top < 1:
        raise ValueError(f"--top ({arguments.top}) must be at least 1: the number of words to write")
    if arguments.output:
        check_folder_of(arguments.output)
    name, content = (
        (arguments.input.name, arguments.input.read_bytes())
        if arguments.input
        else ("standard input", sys.stdin.buffer.read())
    )
    sentences = decode(content, name)
    try:
        lines = parse_lines(sentences)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    translator = Translator.from_checkpoint(arguments.checkpoint)
    with open(arguments.checkpoint, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    scored = score_lines(translator, lines, arguments.beam_size, arguments.length_penalty)
    words = worst_words(tqdm(scored, total=len(lines), unit=" sentences", file=sys.stderr))[: arguments.top]
    text = io.StringIO()
    write(words, digest, arguments.app, text)
    if arguments.output is None:
        (output or sys.stdout).write(text.getvalue())
    else:
        write_atomically(arguments.output, lambda temporary: temporary.write_bytes(text.getvalue().encode()))


def write(words: list[WordScore], digest: str, app: str, output: TextIO) -> None:
    """Write a line for each word, with a link that shows it in the app.

    Numbers count from 1.
    """
    writer = csv.writer(output, delimiter=TAB, lineterminator="\n")
    rows = (
        (
            f"{each.log_prob:.4f}",
            f"{each.probability:.4g}",
            without_formula(each.text),
            each.line.number,
            each.number,
            without_formula(each.line.source),
            without_formula(each.line.target.text),
            without_formula(f"{app.rstrip('/')}/?{app_query(each, digest)}"),
        )
        for each in words
    )
    writer.writerows(itertools.chain([COLUMNS], rows))
