"""`python -m core explain`: write an explanation of one translation to a file."""

import argparse
import hashlib
from pathlib import Path
from typing import Any

from core.analysis.sentence_arguments import add_sentence_arguments, sentence_target
from core.export.files import SUFFIXES, check_suffix, save_explanation
from core.export.record import record_of
from core.translator import Translator


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `explain` to a parser."""
    add_sentence_arguments(parser)
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="FILE",
        help=f"output file; its suffix selects the format: {', '.join(SUFFIXES)}",
    )


def run(arguments: argparse.Namespace) -> None:
    """Write the file, and print its name and the translation.

    Raises:
        ValueError: the text or an option is invalid, or the file cannot be written.
        OSError: the checkpoint cannot be read.
    """
    output: Path = arguments.output
    check_suffix(output.suffix)
    if not output.parent.is_dir():
        raise ValueError(
            f"{output} cannot be written: there is no folder {output.parent}; create it, or give another path"
        )
    translator = Translator.from_checkpoint(arguments.checkpoint)
    settings: dict[str, Any] = {"target": "given"}
    if arguments.target is None:
        settings = {
            "target": "search",
            "beam_size": arguments.beam_size,
            "length_penalty": arguments.length_penalty,
        }
    target = sentence_target(translator, arguments)
    explanation = translator.explain(arguments.text, target)
    with open(arguments.checkpoint, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    record = record_of(explanation, translator, settings, arguments.checkpoint.name, digest)
    try:
        save_explanation(output, record)
    except OSError as error:
        raise ValueError(f"{output} cannot be written ({error.strerror or error}): give another path") from error
    print(f"{output} ({output.stat().st_size / 1e6:.2f} MB): {explanation.target}")
