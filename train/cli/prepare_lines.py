"""`python -m train prepare-lines`: pictures of lines of text for training (7)."""

import argparse
from pathlib import Path

from core.files.number_range import FROM_1, SEEDS
from core.files.shipped_files import shipped_checkpoint
from core.files.strict_json import readable_json
from core.model.preset_configs import PRESETS
from train.data.line_pictures import prepare_lines


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, help="output folder")
    parser.add_argument("--lines", type=FROM_1, default=200_000, help="training lines")
    parser.add_argument(
        "--held-out",
        type=FROM_1,
        default=1_000,
        help="lines of validation and of each of the two test sets, with words that are not trained on",
    )
    parser.add_argument(
        "--words-from",
        type=Path,
        default=shipped_checkpoint(),
        help="a checkpoint from whose vocabulary words are taken (default: the shipped en-de)",
    )
    parser.add_argument("--seed", type=SEEDS, default=1, help="seed of the texts and their drawing")
    parser.add_argument("--overwrite", action="store_true", help="replace other data in the folder")


def _prepare_lines(options: argparse.Namespace) -> None:
    patch_size = PRESETS["lines"].patch_size
    assert patch_size
    manifest = prepare_lines(
        options.folder, options.words_from, options.lines, options.held_out, patch_size, options.seed, options.overwrite
    )
    print(readable_json(manifest))


COMMAND = ("draw lines of text with fonts, to train a model that reads pictures", _add_arguments, _prepare_lines)
