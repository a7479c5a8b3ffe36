"""`python -m train history`: the snapshots of a run in one file, or in a folder."""

import argparse
from pathlib import Path

from core.history import pack_history
from train.cli.shared_options import Commands, command_parser


def add_command(commands: Commands) -> None:
    """Add `history` to the commands."""
    parser = command_parser(
        commands, "history", "pack the snapshots of a run into one file or a folder, for the page Over training"
    )
    parser.add_argument("source", type=Path, metavar="RUN", help="a run's folder, or a folder of snapshots")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="PATH", help="a .zip file, or a new folder, to write"
    )
    parser.add_argument(
        "--eight-bits",
        action="store_true",
        help="round weights to 8 bits, for a large model in one file: less than half the size",
    )
    parser.set_defaults(run=_history)


def _history(options: argparse.Namespace) -> None:
    found, output = pack_history(options.source, options.output, options.eight_bits), options.output
    steps = ", ".join(f"{step:,}" for step in found.steps)
    size = sum(path.stat().st_size for path in ([output] if output.is_file() else output.iterdir()))
    print(f"{output}: {len(found.steps)} snapshots of {steps} steps, {size / 1e6:.1f} MB")
