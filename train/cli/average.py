"""`python -m train average`: the mean of several snapshots as one checkpoint."""

import argparse
from pathlib import Path

from core.files.console import show
from core.files.number_range import FROM_1
from train.average import average
from train.runs.run_folder import RunFolder


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths", type=Path, nargs="+", metavar="RUN | FILE", help="a run's folder, or checkpoints, oldest first"
    )
    parser.add_argument("--last", type=FROM_1, help="average the run's last N snapshots (default: all)")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the checkpoint to write")
    parser.add_argument("--half", action="store_true", help="store float16, half the size (default: float32)")


def _average(options: argparse.Namespace) -> None:
    paths = options.paths
    if not paths[0].exists():
        raise ValueError(f"there is no {paths[0]}: give a run's folder, or checkpoints, oldest first")
    if len(paths) == 1 and paths[0].is_dir():
        snapshots = RunFolder(paths[0]).snapshots()
        if not snapshots:
            raise ValueError(f"{paths[0]} has no snapshots to average: train on, or stop the run, which writes one")
        if options.last and len(snapshots) < options.last:
            show(f"{paths[0]} has {len(snapshots)} snapshots, fewer than {options.last}: the mean is of all of them")
        paths = snapshots[-options.last :] if options.last else snapshots
    elif options.last:
        raise ValueError("--last applies to one run's folder: give either a folder or files")
    facts = average(paths, options.output, options.half)
    print(f"{options.output}: the mean of {', '.join(path.name for path in paths)}, stored as {facts['stored_as']}")


COMMAND = ("average snapshots, of one run or of several, into one checkpoint", _add_arguments, _average)
