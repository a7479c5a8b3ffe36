"""`python -m train history`: the snapshots of a run in one file."""

import argparse
from pathlib import Path

from core.history import pack_history
from train.cli.options import Commands


def add_command(commands: Commands) -> None:
    """Add `history` to the commands."""
    parser = commands.add_parser(
        "history", help="pack the snapshots of a run into one file, for the page Over training"
    )
    parser.add_argument("source", type=Path, metavar="RUN", help="a run's folder, or a folder of snapshots")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="the .zip file to write")
    parser.add_argument(
        "--eight-bits", action="store_true", help="round weights to 8 bits, for a large model: less than half the size"
    )
    parser.set_defaults(run=_history)


def _history(options: argparse.Namespace) -> None:
    if options.output.suffix != ".zip":
        raise ValueError(f"{options.output} must end in .zip: it is a zip archive")
    found = pack_history(options.source, options.output, options.eight_bits)
    steps = ", ".join(f"{step:,}" for step in found.steps)
    print(
        f"{options.output}: {len(found.steps)} snapshots of {steps} steps, {options.output.stat().st_size / 1e6:.1f} MB"
    )
