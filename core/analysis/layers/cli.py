"""`python -m core layer-types`: measure the layers of Table 1 on this machine."""

import argparse
import sys
from pathlib import Path

import torch
from tqdm import tqdm

from core.analysis.layers.layer_cost import SECONDS, CostTable, grid, hardware, measure, to_csv, to_json
from core.files.console import show
from core.files.file_writing import check_folder_of, write_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `layer-types` to a parser."""
    for name, default, what in (
        ("n", [64, 128, 256, 512, 1024], "sequence lengths"),
        ("d", [256], "representation dimensions"),
        ("k", [3], "kernel widths"),
        ("r", [32], "neighbourhood sizes"),
    ):
        parser.add_argument(
            f"--{name}",
            type=int,
            nargs="+",
            default=default,
            metavar=name.upper(),
            help=f"{what} (default: {' '.join(map(str, default))})",
        )
    parser.add_argument(
        "--seconds",
        type=float,
        default=SECONDS,
        metavar="S",
        help="time for each measurement (default: %(default)s)",
    )
    parser.add_argument(
        "--threads",
        type=int,
        metavar="N",
        help="CPU threads; with 1, processor time is measured (default: PyTorch's own)",
    )
    parser.add_argument("--device", default="cpu", help="device: cpu, cuda, cuda:1, ... (default: %(default)s)")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="file to write, .csv or .json (default: CSV on standard output)",
    )


def run(options: argparse.Namespace) -> None:
    """Measure the layers and write the result.

    Raises:
        ValueError: a size or the name of the output is invalid, or the device is not available.
        OSError: the file cannot be written.
    """
    output: Path | None = options.output
    if output and output.suffix.lower() not in (".csv", ".json"):
        raise ValueError(f"--output ({output}) must end in .csv or .json")
    if output:
        check_folder_of(output)
    if options.threads is not None:
        if options.threads < 1:
            raise ValueError(f"--threads ({options.threads}) must be at least 1")
        torch.set_num_threads(options.threads)
    wanted = grid(options.n, options.d, options.k, options.r)
    try:
        machine = hardware(options.device)
        steps = tqdm(
            measure(wanted, options.device, options.seconds), total=len(wanted), unit=" layers", file=sys.stderr
        )
        table = CostTable(machine, tuple(steps))
    except (RuntimeError, AssertionError) as error:  # PyTorch without CUDA raises AssertionError
        raise ValueError(f"the device {options.device!r} cannot be used: {error}") from error
    if output is None:
        sys.stdout.write(to_csv(table))
        return
    text = to_json(table) if output.suffix.lower() == ".json" else to_csv(table)
    write_text(output, text)
    show(f"{output}: {len(table.costs)} measurements on {machine}")
