"""`python -m core cut`: set attention weights, or search for decisive ones."""

import argparse

from core.analysis.csv_output import write_csv
from core.analysis.interventions.cut_search import MAX_CUTS, CutSearch, find_cuts
from core.analysis.interventions.cut_translation import translate_cut
from core.analysis.interventions.cuts import cut_effect, parse_cut
from core.analysis.sentence_arguments import add_sentence_arguments, require_position, sentence_target
from core.capture import KINDS
from core.files.console import show
from core.translator import Translator


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `cut` to a parser."""
    add_sentence_arguments(parser)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--cut",
        nargs="+",
        metavar="CUT",
        help="weights to set, counted from 1, such as 'cross L5 H3 row 4 column 2': without a row or a column all are "
        "set, 'to 0.5' sets another number than 0, 'rest' scales the rest of the row",
    )
    what.add_argument("--find", type=int, metavar="N", help="search for few weights that change predicted token N")
    parser.add_argument(
        "--kinds", nargs="+", choices=KINDS, default=["cross"], help="attention searched by --find (default: cross)"
    )


def run(options: argparse.Namespace) -> None:
    """Print the effect of cuts on each token as CSV, and the translations on stderr.

    With a search, print the cuts found, one per line.

    Raises:
        ValueError: the text or an option is invalid, or no cuts change the token.
        OSError: the checkpoint cannot be read.
    """
    cuts = [parse_cut(name) for name in options.cut or ()]
    translator = Translator.from_checkpoint(options.checkpoint)
    target = sentence_target(translator, options)
    effect = cut_effect(translator, options.text, target, cuts)
    tokens = [str(token) for token in effect.before.predicted_tokens]
    if options.find is None:
        write_csv(
            {
                "position": range(len(tokens)),
                "token": tokens,
                "log_prob": effect.before.log_probs,
                "change": effect.changes,
                "log_prob_cut": effect.after.log_probs,
            }
        )
        found = translate_cut(translator, options.text, cuts, options.beam_size, options.length_penalty)
        show(f"before: {effect.before.target}\nafter:  {found.text}")
        return
    position = require_position(options.find, tokens, "--find")
    state: CutSearch | None = None
    for state in find_cuts(translator, options.text, target, position, options.kinds):
        show(f"{len(state.cuts)} cuts, margin {state.margin:.3f}")
    if state is None or not state.is_minimal:
        raise ValueError(
            f"no cuts were found that change token {options.find} ({tokens[position]}), with at most {MAX_CUTS}: allow "
            f"other attention with --kinds"
        )
    for cut in state.cuts:
        print(cut)
    winner = translator.piece(state.winner)
    show(f"token {options.find}: {tokens[position]} becomes {winner}")
