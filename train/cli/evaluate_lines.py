"""`python -m train evaluate-lines`: error rate of a model that reads pictures (7)."""

import argparse
from pathlib import Path

from core.images.line_reader import BEAM_SIZE, LENGTH_PENALTY, LineReader
from core.translator import Translator
from train.cli.shared_options import add_evaluation_options, finish_evaluation
from train.eval.line_scores import evaluate_lines, pictures_of
from train.snapshot_checksum import check_checksum


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--lines",
        type=Path,
        nargs="+",
        required=True,
        metavar="FOLDER",
        help="test sets, such as test and test-font in the output folder of `prepare-lines`",
    )
    add_evaluation_options(parser, BEAM_SIZE, LENGTH_PENALTY, "what was read to PATH/NAME.txt")


def _evaluate_lines(options: argparse.Namespace) -> None:
    check_checksum(options.checkpoint)
    reader = LineReader(Translator.from_checkpoint(options.checkpoint, options.device))
    search = options.beam_size, options.length_penalty
    results = (
        (folder.name, *evaluate_lines(reader, folder.name, *pictures_of(folder, reader), *search))
        for folder in options.lines
    )
    finish_evaluation(options, results)


SUMMARY = "measure character error rate and exact lines of a model that reads pictures"
COMMAND = (SUMMARY, _add_arguments, _evaluate_lines)
