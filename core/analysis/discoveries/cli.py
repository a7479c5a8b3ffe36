"""`python -m core discover`: what the heads of a model do, as a web page."""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from tqdm import tqdm

from core.analysis.discoveries.facts import Discoveries
from core.analysis.discoveries.search import discover, num_steps
from core.analysis.sample_sentences import EVERYDAY
from core.files.console import printable
from core.files.file_writing import check_folder_of, file_digest, write_text
from core.files.shipped_files import checkpoint_path
from core.text.text_files import parse_lines, read_text
from core.translator import Translator

MOST = 500  # sentences, each of which is translated and passed through the model some fifty times


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `discover` to a parser."""
    parser.add_argument("--checkpoint", type=Path, required=True, help="the model")
    about = f"sentences, one per line, {MOST} at most (default: {len(EVERYDAY)} English ones that are shipped)"
    parser.add_argument("--input", type=Path, help=about)
    parser.add_argument(
        "--app", metavar="URL", default="http://localhost:8501", help="address of the app, for the links"
    )
    parser.add_argument("output", type=Path, metavar="OUT.html", help="the page")


def run(options: argparse.Namespace) -> None:
    """Write the page; progress is shown on stderr.

    Raises:
        ValueError: a file or a sentence is invalid, or as `discover`.
        OSError: a file cannot be read or written.
    """
    if options.output.suffix != ".html":
        raise ValueError(f"{options.output} is to be a web page: give a name that ends with .html")
    check_folder_of(options.output)
    sentences = _sentences(options.input) if options.input else EVERYDAY
    checkpoint = checkpoint_path(options.checkpoint)
    found = Discoveries((), 0, num_steps(sentences))
    with tqdm(total=found.total, unit=" steps", file=sys.stderr) as bar:
        for found in discover(Translator.from_checkpoint(checkpoint), sentences):
            bar.update(found.done - bar.n)
    found = replace(found, digest=file_digest(checkpoint), app=options.app)
    write_text(options.output, found.show().html())
    print(printable(f"{options.output} ({options.output.stat().st_size / 1e6:.2f} MB): {found.answer()}"))


def _sentences(path: Path) -> list[str]:
    text = read_text(path)
    try:
        lines = parse_lines(text)
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from error
    if len(lines) > MOST:
        raise ValueError(f"{path.name} has {len(lines):,} sentences, at most {MOST} are read: shorten it")
    return [line.source for line in lines]
