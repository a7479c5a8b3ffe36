"""`python -m train evaluate-lines`: error rate of a model that reads pictures (7)."""

import argparse
from pathlib import Path

from core.decoding.states import BEAM_SIZES, LENGTH_PENALTIES
from core.files.file_writing import write_text
from core.files.strict_json import json_text
from core.images.line_reader import BEAM_SIZE, LENGTH_PENALTY, LineReader
from core.translator import Translator
from train.card import record_scores
from train.cli.shared_options import DEFAULT, Commands, add_device_option, command_parser
from train.eval.line_scores import LineScore, evaluate_lines, pictures_of
from train.snapshot_checksum import check_checksum


def add_command(commands: Commands) -> None:
    """Add `evaluate-lines` to the commands."""
    parser = command_parser(
        commands, "evaluate-lines", "measure character error rate and exact lines of a model that reads pictures"
    )
    parser.add_argument("checkpoint", type=Path, metavar="CHECKPOINT", help="a .safetensors checkpoint")
    parser.add_argument(
        "--lines",
        type=Path,
        nargs="+",
        required=True,
        metavar="FOLDER",
        help="test sets, such as test and test-font in the output folder of `prepare-lines`",
    )
    parser.add_argument("--beam-size", type=BEAM_SIZES, default=BEAM_SIZE, help=f"beam size ({DEFAULT})")
    parser.add_argument(
        "--length-penalty",
        type=LENGTH_PENALTIES,
        default=LENGTH_PENALTY,
        help=f"exponent of the length penalty ({DEFAULT})",
    )
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="write what was read to FOLDER/NAME.txt")
    parser.add_argument("--json", action="store_true", help="print the scores as JSON")
    parser.add_argument("--record", action="store_true", help="add the scores to the checkpoint's training facts")
    add_device_option(parser)
    parser.set_defaults(run=_evaluate_lines)


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
    if options.json:
        print(json_text([score.facts() for score in scores], indent=2, ensure_ascii=False))
    if options.record:
        record_scores(options.checkpoint, scores)
