"""`python -m train evaluate-lines`: error rate of a model that reads pictures (7)."""

import argparse
from pathlib import Path

from core.files.file_writing import write_text
from core.images.line_reader import BEAM_SIZE, LENGTH_PENALTY, LineReader
from core.translator import Translator
from train.cli.shared_options import add_evaluation_options, finish_evaluation
from train.eval.line_scores import LineScore, evaluate_lines, pictures_of
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
    scores: list[LineScore] = []
    for folder in options.lines:
        images, texts = pictures_of(folder, reader)
        score, read_lines = evaluate_lines(
            reader, folder.name, images, texts, options.beam_size, options.length_penalty
        )
        scores.append(score)
        if not options.json:
            print(score)
        if options.write:
            options.write.mkdir(parents=True, exist_ok=True)
            write_text(options.write / f"{folder.name}.txt", "".join(f"{line}\n" for line in read_lines))
    finish_evaluation(options, scores)


SUMMARY = "measure character error rate and exact lines of a model that reads pictures"
COMMAND = (SUMMARY, _add_arguments, _evaluate_lines)
