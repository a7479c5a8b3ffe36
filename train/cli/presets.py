"""`python -m train presets`: presets, recipes, and their measured results."""

import argparse
from pathlib import Path

from core.files.console import printable
from core.files.shipped_files import shipped_folder
from train.presets import describe_presets


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "checkpoints",
        type=Path,
        nargs="*",
        metavar="FILE",
        help="checkpoints with the records of training runs (default: those shipped)",
    )


def _presets(options: argparse.Namespace) -> None:
    for line in describe_presets(options.checkpoints or sorted(shipped_folder("checkpoints").glob("*.safetensors"))):
        print(printable(line))


COMMAND = ("list the presets, their recipes and measured results", _add_arguments, _presets)
