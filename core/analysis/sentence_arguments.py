"""Command-line options of analyses of one sentence, and its target."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from core.translator import Translator


def add_sentence_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of a model, a sentence and its translation."""
    parser.add_argument("--checkpoint", type=Path, required=True, metavar="FILE", help="the model")
    parser.add_argument("--text", required=True, help="the sentence to translate")
    parser.add_argument("--target", help="a translation to explain instead of the model's own")
    parser.add_argument(
        "--beam-size",
        type=int,
        default=4,
        metavar="N",
        help="beam size; 1 is greedy search (default: %(default)s)",
    )
    parser.add_argument(
        "--length-penalty",
        type=float,
        default=0.6,
        metavar="ALPHA",
        help="exponent of the length penalty; 0 for none (default: %(default)s)",
    )


def sentence_target(translator: Translator, arguments: argparse.Namespace) -> str | Sequence[int]:
    """The target of `--target`, or the best translation of a search.

    Raises:
        ValueError: as `Translator.translate`.
    """
    if arguments.target is not None:
        return arguments.target
    return translator.translate(arguments.text, arguments.beam_size, arguments.length_penalty).hypotheses[0].token_ids


def require_position(position: int, tokens: Sequence[str], option: str = "--token") -> int:
    """Index of a predicted token that is counted from 1 on the command line.

    Raises:
        ValueError: there is no such token.
    """
    if not 1 <= position <= len(tokens):
        names = " ".join(f"{number}:{token}" for number, token in enumerate(tokens, start=1))
        raise ValueError(f"{option} ({position}) must be one of the {len(tokens)} predicted tokens: {names}")
    return position - 1
