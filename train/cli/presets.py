"""`python -m train presets`: presets, recipes, and their measured results."""

import argparse
from pathlib import Path

from core.files.console import printable
from core.files.shipped_files import shipped_folder
from train.cli.shared_options import Commands, command_parser
from train.presets import describe_presets


def add_command(commands: Commands) -> None:
    """Add `presets` to the commands."""
    parser = command_parser(commands, "presets", "list the presets, their recipes and measured results")
    parser.add_argument(
        "checkpoints",
        type=Path,
        nargs="*",
        metavar="FILE",
        help="checkpoints with the records of training runs (default: those shipped)",
    )
    parser.set_defaults(run=_presets)


def _presets(options: argparse.Namespace) -> None:
    for line in describe_presets(options.checkpoints or sorted(shipped_folder("checkpoints").glob("*.safetensors"))):
        print(printable(line))
