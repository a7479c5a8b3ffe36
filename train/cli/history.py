"""`python -m train history`: the snapshots of a run in one file."""

import argparse
from pathlib import Path

from core.analysis.over_training.history import pack_history
from train.snapshot_checksum import check_checksum


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", type=Path, metavar="RUN", help="a run's folder, or a folder of snapshots")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the .zip file to write")


def _history(options: argparse.Namespace) -> None:
    for path in options.source.rglob("*.safetensors") if options.source.is_dir() else ():
        check_checksum(path)
    packed, output = pack_history(options.source, options.output), options.output
    steps = ", ".join(f"{step:,}" for step in packed.steps)
    print(f"{output}: {len(packed.steps)} snapshots of {steps} steps, {output.stat().st_size / 1e6:.1f} MB")


SUMMARY = "pack the snapshots of a run, rounded to 8 bits, into one file for the page Over training"
COMMAND = (SUMMARY, _add_arguments, _history)
