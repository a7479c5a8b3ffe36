"""`python -m core attribute` and `python -m core faithfulness`: why A, not B."""

import argparse
import sys
from pathlib import Path
from typing import cast

from tqdm import tqdm

from core.analysis.attribution.contrast import contrast_at, runner_up
from core.analysis.attribution.contrast_methods import METHODS, ContrastMethod, attribute_contrast, score_table
from core.analysis.attribution.faithfulness import Example, rank_methods, sample_curves
from core.analysis.csv_output import write_csv
from core.analysis.sentence_arguments import add_sentence_arguments, require_position, sentence_target
from core.files.console import show
from core.text.text_files import read_text, split_lines
from core.translator import Translator


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `attribute` to a parser."""
    add_sentence_arguments(parser)
    parser.add_argument(
        "--token", type=int, required=True, metavar="N", help="number of the predicted token, counted from 1"
    )
    parser.add_argument("--piece", help="explain this piece instead of the predicted one, such as \u2581Hund")
    other = parser.add_mutually_exclusive_group()
    other.add_argument("--against", metavar="PIECE", help="why not this piece (default: the most probable other one)")
    other.add_argument("--alone", action="store_true", help="explain the log-probability of the token alone")
    _add_methods(parser)


def _add_methods(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--methods",
        nargs="+",
        choices=METHODS,
        metavar="NAME",
        help=f"methods, from {', '.join(METHODS)} (default: all that apply)",
    )


def run(options: argparse.Namespace) -> None:
    """Print the scores of all source and prefix tokens as CSV.

    On stderr, print what they explain. Positions are counted from 0 in the table.

    Raises:
        ValueError: the text or an option is invalid.
        OSError: the checkpoint cannot be read.
    """
    translator = Translator.from_checkpoint(options.checkpoint)
    tokenizer, target = translator.tokenizer.target, sentence_target(translator, options)
    predicted = translator.explain(options.text, target).predicted_tokens
    position = require_position(options.token, predicted)
    token = None if options.piece is None else tokenizer.token_id(options.piece)
    contrast = contrast_at(translator, options.text, target, position, token)
    against = None if options.alone else tokenizer.token_id(options.against) if options.against else runner_up(contrast)
    methods = cast("list[ContrastMethod] | None", options.methods)
    found = attribute_contrast(translator, options.text, target, position, token, against, methods)
    write_csv(score_table(found))
    name = f"log p({tokenizer.piece(contrast.token)})"
    minus = "" if against is None else f" - log p({tokenizer.piece(against)})"
    show(f"{name}{minus}: {found.output:.4f}, of the baseline {found.baseline:.4f}")
    if "integrated_gradients" in found.scores:
        gap = found.gap("integrated_gradients")
        show(f"integrated gradients: gap {gap:.4f} with {found.points} points")


def add_faithfulness_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `faithfulness` to a parser."""
    parser.add_argument("--checkpoint", type=Path, required=True, metavar="FILE", help="the model")
    parser.add_argument("--input", type=Path, required=True, metavar="FILE", help="sentences, one per line")
    parser.add_argument(
        "--alone", action="store_true", help="explain log p(A) alone, rather than A against the runner-up B"
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="seed of the choice of tokens and of the random orders (default: %(default)s)",
    )
    _add_methods(parser)


def run_faithfulness(options: argparse.Namespace) -> None:
    """Print how faithful each method is, as CSV.

    A method is faithful if the probability falls far without the tokens that it ranks highest.

    Raises:
        ValueError: the file has no sentences, or one that cannot be translated.
        OSError: a file cannot be read.
    """
    sentences = [line.strip() for line in split_lines(read_text(options.input)) if line.strip()]
    if not sentences:
        raise ValueError(f"{options.input} has no sentences: give a file with one per line")
    translator = Translator.from_checkpoint(options.checkpoint)
    methods = cast("list[ContrastMethod] | None", options.methods)
    examples = sample_curves(translator, sentences, not options.alone, methods, options.seed)
    found: list[Example] = list(tqdm(examples, total=len(sentences), unit=" sentences", file=sys.stderr))
    ranking = rank_methods([example.curves for example in found])
    ranked = ranking.methods
    write_csv(
        {
            "method": [each.method for each in ranked],
            "aopc": [each.aopc for each in ranked],
            "standard_error": [each.error for each in ranked],
            "above_random": [each.above_random.mean for each in ranked],
            "low": [each.above_random.low for each in ranked],
            "high": [each.above_random.high for each in ranked],
            "p_value": [each.above_random.p_value for each in ranked],
            "beats_random": [each.beats_random for each in ranked],
            "is_best": [each.is_best for each in ranked],
        }
    )
    show(
        f"best on one half of {len(found)} predictions: {' and '.join(ranking.best)}; AOPC on the other half: "
        f"{ranking.best_aopc:.4f}"
    )
