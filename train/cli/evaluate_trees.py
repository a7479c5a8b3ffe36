"""`python -m train evaluate-trees`: PARSEVAL scores of a parser (6.3)."""

import argparse
from pathlib import Path

from core.decoding.states import BEAM_SIZES, LENGTH_PENALTIES
from core.files.file_writing import write_text
from core.files.strict_json import json_text
from core.parsing.parser import BEAM_SIZE, LENGTH_PENALTY, Parser
from core.translator import Translator
from train.card import record_scores
from train.cli.shared_options import DEFAULT, Commands, add_device_option, command_parser
from train.data.parallel_text import TEXT_FORMATS
from train.snapshot_checksum import check_checksum


def add_command(commands: Commands) -> None:
    """Add `evaluate-trees` to the commands."""
    parser = command_parser(
        commands, "evaluate-trees", "measure labelled F1, precision, recall and exact match of a parser"
    )
    parser.add_argument("checkpoint", type=Path, metavar="CHECKPOINT", help="a .safetensors checkpoint")
    parser.add_argument(
        "--trees",
        type=Path,
        required=True,
        metavar="FILE",
        help=f"the gold trees, such as trees/test.mrg in the output folder of `prepare-trees`: {TEXT_FORMATS}",
    )
    parser.add_argument("--beam-size", type=BEAM_SIZES, default=BEAM_SIZE, help=f"beam size ({DEFAULT})")
    parser.add_argument(
        "--length-penalty",
        type=LENGTH_PENALTIES,
        default=LENGTH_PENALTY,
        help=f"exponent of the length penalty ({DEFAULT})",
    )
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the predicted trees, with the gold tags")
    parser.add_argument("--json", action="store_true", help="print the score as JSON")
    parser.add_argument("--record", action="store_true", help="add the score to the checkpoint's training facts")
    add_device_option(parser)
    parser.set_defaults(run=_evaluate_trees)


def _evaluate_trees(options: argparse.Namespace) -> None:
    from train.eval.parseval import evaluate_trees, read_gold, with_tags  # imports pytablewriter, which is slow

    check_checksum(options.checkpoint)
    parser, gold = Parser(Translator.from_checkpoint(options.checkpoint, options.device)), read_gold(options.trees)
    score, parses = evaluate_trees(parser, options.trees.name, gold, options.beam_size, options.length_penalty)
    if options.write:
        write_text(options.write, "".join(f"{line}\n" for line in with_tags(parses, gold)))
    print(json_text(score.facts(), indent=2, ensure_ascii=False) if options.json else score)
    if options.record:
        record_scores(options.checkpoint, [score])
