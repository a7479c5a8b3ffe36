"""`python -m train evaluate-trees`: PARSEVAL scores of a parser (6.3)."""

import argparse
from pathlib import Path

from core.files.file_writing import write_text
from core.files.strict_json import readable_json
from core.parsing.parser import BEAM_SIZE, LENGTH_PENALTY, Parser
from core.translator import Translator
from train.card import record_scores
from train.cli.shared_options import add_evaluation_options
from train.data.parallel_text import TEXT_FORMATS
from train.snapshot_checksum import check_checksum


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--trees",
        type=Path,
        required=True,
        help=f"the gold trees, such as trees/test.mrg in the output folder of `prepare-trees`: {TEXT_FORMATS}",
    )
    add_evaluation_options(parser, BEAM_SIZE, LENGTH_PENALTY, "the predicted trees, with the gold tags, to a file")


def _evaluate_trees(options: argparse.Namespace) -> None:
    from train.eval.parseval import evaluate_trees, read_gold, with_tags  # imports pytablewriter, which is slow

    check_checksum(options.checkpoint)
    parser, gold = Parser(Translator.from_checkpoint(options.checkpoint, options.device)), read_gold(options.trees)
    score, parses = evaluate_trees(parser, options.trees.name, gold, options.beam_size, options.length_penalty)
    if options.write:
        write_text(options.write, "".join(f"{line}\n" for line in with_tags(parses, gold)))
    print(readable_json(score.facts()) if options.json else score)
    if options.record:
        record_scores(options.checkpoint, [score])


COMMAND = ("measure labelled F1, precision, recall and exact match of a parser", _add_arguments, _evaluate_trees)
