"""`python -m train synthesize`: pairs made by rule."""

import argparse
from pathlib import Path

from core.files.file_writing import check_folder_of, write_text
from core.files.number_range import SEEDS, NumberRange
from train.data.parallel_text import TEXT_FORMATS, read_parallel
from train.data.synthetic_pairs import synthetic_pairs

SHARE = NumberRange(float, 0, 1)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    for side in ("source", "target"):
        parser.add_argument(f"--{side}", type=Path, nargs="+", required=True, help=f"{side} side: {TEXT_FORMATS}")
    parser.add_argument(
        "--copying",
        type=SHARE,
        default=0.01,
        metavar="SHARE",
        help="make this share of the pairs again with numbers, addresses, code and the like in them",
    )
    parser.add_argument(
        "--capitals",
        type=SHARE,
        default=0.02,
        metavar="SHARE",
        help="make this share again in capitals on both sides, or with a source in lower case",
    )
    parser.add_argument("--seed", type=SEEDS, default=1, help="seed of what is drawn")
    parser.add_argument(
        "-o", "--output", type=Path, nargs=2, required=True, metavar=("SOURCE", "TARGET"), help="files to write"
    )


def _synthesize(options: argparse.Namespace) -> None:
    for path in options.output:
        check_folder_of(path)
    read = read_parallel(options.source, options.target)
    pairs = list(synthetic_pairs(read, options.copying, options.capitals, options.seed))
    for path, side in zip(options.output, zip(*pairs, strict=True) if pairs else ((), ()), strict=True):
        write_text(path, "".join(f"{line}\n" for line in side))
    print(f"{len(pairs):,} pairs")


COMMAND = ("make pairs by rule that teach copying letter by letter, and capitals", _add_arguments, _synthesize)
