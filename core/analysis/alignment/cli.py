"""`python -m core align`: rank all cross-attention heads as word aligners."""

import argparse
import sys
from collections.abc import Sequence
from typing import TextIO

from tqdm import tqdm

from core.analysis.alignment.aligners import Aligner, rank_aligners
from core.analysis.alignment.pharaoh import read_gold_pairs
from core.analysis.attribution.methods import METHODS
from core.capture import AttentionMap
from core.translator import Translator


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `align` to a parser."""
    parser.add_argument("--checkpoint", required=True, metavar="FILE", help="the model")
    parser.add_argument("--source", required=True, metavar="FILE", help="sentences, words separated by spaces")
    parser.add_argument("--target", required=True, metavar="FILE", help="their translations, line by line")
    parser.add_argument(
        "--gold",
        required=True,
        metavar="FILE",
        help="links in the Pharaoh format: 0-0 sure, 1?2 possible, source word first",
    )
    parser.add_argument(
        "--method",
        default="attention",
        choices=METHODS,
        help="attribution method to align by (default: the attention weights)",
    )
    parser.add_argument("--top", type=int, metavar="N", help="print only the best N aligners")


def run(arguments: argparse.Namespace, output: TextIO | None = None) -> None:
    """Print the ranking, lowest alignment error rate first, and progress on stderr.

    Raises:
        ValueError: an option is out of range, or a file is invalid (`CheckpointError` included).
        OSError: a file cannot be read.
    """
    if arguments.top is not None and arguments.top < 1:
        raise ValueError(f"--top ({arguments.top}) must be at least 1: the number of aligners to print")
    pairs = read_gold_pairs(arguments.source, arguments.target, arguments.gold)
    translator = Translator.from_checkpoint(arguments.checkpoint)
    method = METHODS[arguments.method]

    def cross_maps(translator: Translator, source: str, target: str) -> Sequence[AttentionMap]:
        return method(translator, source, target)["cross"]

    aligners = rank_aligners(translator, tqdm(pairs, unit=" pairs", file=sys.stderr), cross_maps)
    print(format_ranking(aligners[: arguments.top], len(pairs)), file=output or sys.stdout)


def format_ranking(aligners: Sequence[Aligner], num_pairs: int) -> str:
    """Format a ranking as a text table; layers and heads are counted from 1.

    `fed` and `predicted` are the decoder rows that stand for a target word.
    """
    head = (
        f"{num_pairs} sentence pairs; layers and heads counted from 1\n\n{'head':<9} {'rows':<10} {'AER':>6} "
        f"{'precision':>10} {'recall':>7}"
    )
    lines = [
        f"{aligner!s:<9} {aligner.rows:<10} {aligner.score.error_rate:6.3f} {aligner.score.precision:10.3f} "
        f"{aligner.score.recall:7.3f}"
        for aligner in aligners
    ]
    return "\n".join([head, *lines])
