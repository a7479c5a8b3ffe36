"""`python -m core over-training`: a sentence, or the heads, at every snapshot."""

import argparse
from pathlib import Path

from core.analysis.csv_output import write_csv
from core.analysis.over_training.history.snapshots import open_history
from core.analysis.over_training.roles import SCORES, TOLERANCE, development_columns, developments
from core.analysis.over_training.snapshot_reading import read_snapshot


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `over-training` to a parser."""
    parser.add_argument(
        "--history", type=Path, required=True, metavar="PATH", help="a run's folder, or a file of `train history`"
    )
    parser.add_argument("--text", required=True, help="the sentence to translate")
    parser.add_argument("--beam-size", type=int, default=4, metavar="N", help="beam size (default: %(default)s)")
    parser.add_argument(
        "--length-penalty", type=float, default=0.6, metavar="ALPHA", help="length penalty (default: %(default)s)"
    )
    parser.add_argument(
        "--score", choices=SCORES, help="print this score of every head, and its role, instead of the translations"
    )
    parser.add_argument(
        "--lens", action="store_true", help="print the token that each layer would predict, instead of the translations"
    )
    parser.add_argument(
        "--tolerance",
        type=float,
        default=TOLERANCE,
        help="distance from its last value within which a score counts as settled (default: %(default)s)",
    )


def run(options: argparse.Namespace) -> None:
    """Print the results of every snapshot for a sentence as CSV: its translation, the scores of all heads, or the logit
    lens.

    `log_prob`, lens and scores are of the translation of the last snapshot, which is fed to all snapshots.

    Raises:
        CheckpointError: the history cannot be used.
        ValueError: the text or an option is invalid.
        OSError: a file cannot be read.
    """
    if not 0 <= options.tolerance <= 1:
        raise ValueError(f"--tolerance ({options.tolerance}) must be from 0 to 1, as the scores are")
    if options.lens and options.score is not None:
        raise ValueError(f"--lens and --score {options.score} are two tables: give one of them")
    history = open_history(options.history)
    search = options.beam_size, options.length_penalty
    last = history.translator(history.steps[-1]).translate(options.text, *search, 1)
    target = last.hypotheses[0].token_ids
    snapshots = [read_snapshot(translator, step, options.text, target, *search) for step, translator in history]
    if options.score is not None:
        heads = developments([each.cards for each in snapshots], options.score, options.tolerance)
        write_csv(development_columns(history.steps, heads))
        return
    if options.lens:
        tables = [(each.step, each.lens.table()) for each in snapshots]
        columns = {name: [value for _, table in tables for value in table[name]] for name in tables[0][1]}
        write_csv({"step": [step for step, table in tables for _ in table["level"]], **columns})
        return
    write_csv(
        {
            "step": history.steps,
            "log_prob": [each.log_prob for each in snapshots],
            "translation": [each.translation.text for each in snapshots],
        }
    )
