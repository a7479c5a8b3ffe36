"""`python -m core contributions` and `python -m core lexicon`: what heads write."""

import argparse
import re

from core.analysis.attribution.logit_attribution import Against, attribute_logit, term_table
from core.analysis.attribution.logit_lexicon import head_lexicon, rank_lexicons
from core.analysis.attribution.logit_trace import LogitTrace, trace_logits
from core.analysis.csv_output import write_csv
from core.analysis.heads.head import Head
from core.analysis.sentence_arguments import (
    add_sentence_arguments,
    require_position,
    sentence_target,
)
from core.files.console import show
from core.translator import Translator


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `contributions` to a parser."""
    add_sentence_arguments(parser)
    parser.add_argument(
        "--token", type=int, required=True, metavar="N", help="number of the predicted token, counted from 1"
    )
    parser.add_argument(
        "--piece",
        help="split the logit of this piece instead of the predicted one, such as \u2581Hund",
    )
    parser.add_argument(
        "--against", metavar="PIECE", help="subtract the logit of this piece, or the mean of all with `mean`"
    )


def run(options: argparse.Namespace) -> None:
    """Print all terms of one logit as CSV.

    On stderr, print their sum and the model's logit. Layers, heads and positions are counted from 0 in the table.

    Raises:
        ValueError: the text or an option is invalid.
        RuntimeError: as `attribute_logit`.
        OSError: the checkpoint cannot be read.
    """
    translator, trace = _traced(options)
    tokens = trace.explanation.predicted_tokens
    position, tokenizer = require_position(options.token, tokens), translator.tokenizer.target
    token = trace.predicted_ids[position] if options.piece is None else tokenizer.token_id(options.piece)
    against: Against = options.against
    if options.against not in (None, "mean"):
        against = tokenizer.token_id(options.against)
    found = attribute_logit(trace, position, token, against)
    write_csv(term_table(found, trace.explanation))
    minus = f" minus {options.against}" if options.against else ""
    show(
        f"token {options.token}, {tokenizer.piece(token)}{minus}: the terms sum to {found.total:.6f}, the "
        f"logit is {found.logit:.6f} (gap {found.gap:.1g})"
    )


def add_lexicon_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `lexicon` to a parser."""
    add_sentence_arguments(parser)
    parser.add_argument(
        "--head",
        metavar="NAME",
        help="a head such as 'L4 H3', counted from 1: print its lexicon instead of the ranking",
    )
    parser.add_argument(
        "--top", type=int, default=5, metavar="N", help="pieces for each source token (default: %(default)s)"
    )


def run_lexicon(options: argparse.Namespace) -> None:
    """Print the lexicon of one cross-attention head, as CSV.

    Without a head, print all of them by their agreement with the translation.

    Raises:
        ValueError: the text or an option is invalid.
        OSError: the checkpoint cannot be read.
    """
    if options.top < 1:
        raise ValueError(f"--top ({options.top}) must be at least 1: the number of pieces for each source token")
    numbers = re.fullmatch(r"L(\d{1,4}) ?H(\d{1,4})", options.head or "L1H1")
    if numbers is None:
        raise ValueError(f"--head ({options.head}) must be a head such as 'L4 H3', counted from 1")
    translator, trace = _traced(options)
    if options.head is None:
        ranking = rank_lexicons(trace)
        write_csv(
            {
                "layer": [agreement.head.layer for agreement in ranking],
                "head": [agreement.head.head for agreement in ranking],
                "reciprocal_rank": [agreement.reciprocal_rank for agreement in ranking],
                "first": [agreement.first for agreement in ranking],
            }
        )
        return
    lexicon = head_lexicon(trace, Head("cross", int(numbers[1]) - 1, int(numbers[2]) - 1), options.top)
    entries = [(key, rank, *entry) for key, entries in enumerate(lexicon) for rank, entry in enumerate(entries)]
    write_csv(
        {
            "key": [key for key, *_ in entries],
            "key_token": [str(trace.explanation.source_tokens[key]) for key, *_ in entries],
            "rank": [rank for _, rank, _, _ in entries],
            "piece": [translator.tokenizer.target.piece(token_id) for *_, token_id, _ in entries],
            "score": [score for *_, score in entries],
        }
    )


def _traced(options: argparse.Namespace) -> tuple[Translator, LogitTrace]:
    translator = Translator.from_checkpoint(options.checkpoint)
    return translator, trace_logits(translator, options.text, sentence_target(translator, options))
