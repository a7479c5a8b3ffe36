"""`python -m train closest`: translations closest to their references."""

import argparse
from pathlib import Path

from tqdm import tqdm

from train.data.closest_hypotheses import write_closest
from train.data.parallel_text import TEXT_FORMATS, read_lines


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--hypotheses",
        type=Path,
        nargs="+",
        required=True,
        help="translations as `python -m core translate --n-best` writes them: a line for each sentence, with tabs "
        "between its hypotheses",
    )
    parser.add_argument("--reference", type=Path, required=True, help=f"as many lines of references: {TEXT_FORMATS}")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the file to write")


def _closest(options: argparse.Namespace) -> None:
    total = sum(1 for _ in read_lines(options.reference))
    with tqdm(total=total, desc=options.output.name, unit=" lines", disable=None) as bar:
        counts = write_closest(
            options.reference, options.hypotheses, options.output, lambda lines: bar.update(lines - bar.n)
        )
    for path, chosen in zip(options.hypotheses, counts.chosen, strict=True):
        print(f"{path}: {chosen:,} of {counts.lines:,} lines")
    print(f"equal to the reference: {counts.equal:,}; no hypothesis: {counts.empty:,}")


COMMAND = ("write the translation of each sentence that is closest to its reference", _add_arguments, _closest)
