"""`python -m core step`: one token followed through the model, as CSV."""

import argparse

from core.analysis.csv_output import write_csv
from core.analysis.sentence_arguments import add_sentence_arguments, sentence_target
from core.analysis.token_path.steps import Stack, path_columns
from core.analysis.token_path.token_walk import follow_token
from core.files.console import show
from core.translator import Translator


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `step` to a parser."""
    add_sentence_arguments(parser)
    parser.add_argument(
        "--stack",
        choices=("encoder", "decoder"),
        default="decoder",
        help="stack whose token is followed (default: %(default)s)",
    )
    parser.add_argument(
        "--token",
        type=int,
        required=True,
        metavar="N",
        help="number of the token, counted from 1: of the source, or of the predicted tokens",
    )
    parser.add_argument(
        "--layer", type=int, default=1, metavar="N", help="layer, counted from 1 (default: %(default)s)"
    )
    parser.add_argument("--head", type=int, default=1, metavar="N", help="head, counted from 1 (default: %(default)s)")
    parser.add_argument("--part", metavar="NAME", help="print this part alone, such as cross or feed_forward")


def run(options: argparse.Namespace) -> None:
    """Print all numbers of the steps of a token as CSV.

    On stderr, print how exact they are. Positions, heads and dimensions are counted from 0 in the table.

    Raises:
        ValueError: the text or an option is invalid.
        OSError: the checkpoint cannot be read.
    """
    for name in ("token", "layer", "head"):
        if getattr(options, name) < 1:
            raise ValueError(f"--{name} ({getattr(options, name)}) must be at least 1: it is counted from 1")
    translator = Translator.from_checkpoint(options.checkpoint)
    stack: Stack = options.stack
    place = options.token - 1, options.layer - 1, options.head - 1
    path = follow_token(translator, options.text, sentence_target(translator, options), stack, *place)
    write_csv(path_columns(path, options.part))
    token = path.tokens[path.position]
    predicts = f", predicts {path.explanation.predicted_tokens[path.position]}" if stack == "decoder" else ""
    show(
        f"{stack}, {token}{predicts}, layer {options.layer}, head {options.head}: computed again by the formulas, "
        f"{len(path.differences)} quantities differ from the model's own by at most {path.gap:.1g}"
    )
