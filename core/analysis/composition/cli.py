"""`python -m core paths`: which head feeds which, by path patching of every edge."""

import argparse

from core.analysis.composition.edge_effects import repeated_with_hooks
from core.analysis.composition.replacement import REPLACED_BY, record_replacement
from core.analysis.composition.survey import survey
from core.analysis.csv_output import write_csv
from core.analysis.interventions.pair_runs import METRICS
from core.analysis.sentence_arguments import add_sentence_arguments, require_position, sentence_target
from core.files.console import show
from core.translator import Translator


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `paths` to a parser."""
    add_sentence_arguments(parser)
    parser.add_argument(
        "--token", type=int, required=True, metavar="N", help="number of the predicted token, counted from 1"
    )
    parser.add_argument(
        "--against", metavar="PIECE", help="the token to compare with (default: the most probable other one)"
    )
    parser.add_argument(
        "--metric",
        choices=METRICS,
        default="difference",
        help="difference of two logits, or log-probability of the token (default: %(default)s)",
    )
    parser.add_argument(
        "--replaced-by",
        choices=REPLACED_BY,
        help="what replaces the output of a sender: its mean over positions, zero, or its output for the sentence of "
        "--corrupted (default: that if there is one, else mean)",
    )
    parser.add_argument("--corrupted", metavar="TEXT", help="second sentence of equal length in tokens")
    parser.add_argument(
        "--strongest", type=int, default=200, metavar="N", help="edges to measure exactly (default: %(default)s)"
    )
    parser.add_argument("--all", action="store_true", help="also print the other edges, which are only estimated")


def run(options: argparse.Namespace) -> None:
    """Print the edges as CSV, the strongest first.

    On stderr, print how far estimates and weights agree with them. Layers and heads are counted from 0 in the table.

    Raises:
        ValueError: a text or an option is invalid.
        OSError: the checkpoint cannot be read.
    """
    if options.strongest < 1:
        raise ValueError(f"--strongest ({options.strongest}) must be at least 1")
    translator = Translator.from_checkpoint(options.checkpoint)
    target = sentence_target(translator, options)
    position = require_position(options.token, translator.pieces(translator.token_ids(options.text, target).predicted))
    against = None if options.against is None else translator.tokenizer.target.token_id(options.against)
    by = options.replaced_by or ("mean" if options.corrupted is None else "sentence")
    found = record_replacement(
        translator, options.text, target, position, by, options.corrupted, None, against, options.metric
    )
    edges = survey(found, options.strongest)
    write_csv(edges.columns(None if options.all else len(edges.effects)))
    first, second = map(translator.piece, (found.runs.token, found.runs.against))
    name = f"{first} minus {second}" if options.metric == "difference" else f"log-probability of {first}"
    lines = [f"{name}: {found.metric:.6f}; {len(edges.edges)} edges, {len(edges.effects)} measured exactly"]
    lines.append(f"rank correlation of estimates and effects: {edges.estimate_agreement():.3f}")
    for which, (count, value) in edges.composition_agreement().items():
        lines.append(f"rank correlation of {which} composition by weights and change, {count} edges: {value:.3f}")
    checked = edges.checked_edge()
    if checked is not None:
        gap = abs(repeated_with_hooks(found, checked) - edges.effects[checked])
        lines.append(f"{checked} repeated with hooks: gap {gap:.1g}")
    show("\n".join(lines))
