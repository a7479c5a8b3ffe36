"""`python -m train closest`: translations closest to their references."""

import argparse
from pathlib import Path

from tqdm import tqdm

from train.cli.shared_options import Commands, command_parser
from train.data.closest_hypotheses import write_closest
from train.data.parallel_text import TEXT_FORMATS, read_lines


def add_command(commands: Commands) -> None:
    """Add `closest` to the commands."""
    parser = command_parser(
        commands, "closest", "write the translation of each sentence that is closest to its reference"
    )
    parser.add_argument(
        "--hypotheses",
        type=Path,
        nargs="+",
        required=True,
        metavar="FILE",
        help="translations as `python -m core translate --n-best` writes them: a line for each sentence, with tabs "
        "between its hypotheses",
    )
    parser.add_argument(
        "--reference", type=Path, required=True, metavar="FILE", help=f"as many lines of references: {TEXT_FORMATS}"
    )
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="the file to write")
    parser.set_defaults(run=_closest)


def _closest(options: argparse.Namespace) -> None:
    total = sum(1 for _ in read_lines(options.reference))
    with tqdm(total=total, desc=options.output.name, unit=" lines", disable=None) as bar:
        counts = write_closest(
            options.reference, options.hypotheses, options.output, lambda lines: bar.update(lines - bar.n)
        )
    for path, chosen in zip(options.hypotheses, counts.chosen, strict=True):
        print(f"{path}: {chosen:,} of {counts.lines:,} lines")
    print(f"equal to the reference: {counts.equal:,}; no hypothesis: {counts.empty:,}")
