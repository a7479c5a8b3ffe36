"""`python -m train prepare-trees` and `evaluate-trees`: constituency parsing (6.3)."""

import argparse
import json
from pathlib import Path
from typing import Any

from core.parsing.parser import BEAM_SIZE, LENGTH_PENALTY, Parser
from core.translator import Translator
from train.cli.recipe_options import add_device_option
from train.data.token_shards import DataError
from train.data.treebank import PARTS, Treebank, prepare_trees

Commands = Any  # what argparse's add_subparsers returns has no public name


def add_prepare_trees(commands: Commands) -> None:
    """Add the command to those of `python -m train`."""
    parser = commands.add_parser(
        "prepare-trees", help="Penn Treebank trees to a tokenizer and token shards, for a model that parses"
    )
    parser.add_argument("folder", type=Path, help="where they go")
    in_brackets = "trees in brackets; plain, .gz, .xz, .bz2 or .zst"
    parser.add_argument(
        "--trees",
        type=Path,
        nargs="+",
        required=True,
        metavar="FILE",
        help=f"{in_brackets}: to train on, or all, with --ids",
    )
    for part in PARTS[1:]:
        parser.add_argument(
            f"--{part}-trees", type=Path, nargs="+", default=[], metavar="FILE", help=f"those to {part} on"
        )
    parser.add_argument(
        "--ids", type=Path, metavar="FILE", help="one id a tree, such as wsj_0001, to divide --trees by"
    )
    for part in PARTS:
        parser.add_argument(
            f"--{part}", nargs=2, metavar=("FIRST", "LAST"), help=f"ids of the trees to {part} on, both included"
        )
    parser.add_argument(
        "--vocab-size",
        type=int,
        default=16_000,
        help="pieces of the joint vocabulary (default: %(default)s; 32000 in 6.3, too)",
    )
    parser.add_argument(
        "--phrases",
        action="store_true",
        help="train on every phrase of the trees as well, as if it were a sentence: for few trees",
    )
    parser.add_argument(
        "--tags",
        action="store_true",
        help="have the model write the words' tags as well, which keep count: for few trees",
    )
    parser.add_argument(
        "--overwrite",
        action="store_true",
        help="replace what the folder holds, even if it was prepared from other trees",
    )
    parser.set_defaults(run=_prepare_trees)


def _prepare_trees(options: argparse.Namespace) -> None:
    manifest = prepare_trees(
        options.folder, _parts(options), options.vocab_size, options.phrases, options.tags, options.overwrite
    )
    print(json.dumps(manifest, indent=2, ensure_ascii=False))


def _parts(options: argparse.Namespace) -> dict[str, Treebank]:
    """What is to be trained, validated and tested on.

    Raises:
        DataError: the options contradict each other.
    """
    ranges = {part: getattr(options, part) for part in PARTS if getattr(options, part)}
    files = {part: getattr(options, f"{part}_trees") for part in PARTS[1:] if getattr(options, f"{part}_trees")}
    if options.ids:
        if files or not {"train", "valid"} <= ranges.keys():
            raise DataError(
                "--ids divides --trees: give --train FIRST LAST and --valid FIRST LAST with it, and no other files"
            )
        return {part: Treebank(options.trees, options.ids, *ends) for part, ends in ranges.items()}
    if ranges:
        raise DataError(f"--{next(iter(ranges))} names ids, but there are none: give a file of them with --ids")
    if "valid" not in files:
        raise DataError("there is nothing to validate on: give --valid-trees, or --ids with --train and --valid")
    return {"train": Treebank(options.trees), **{part: Treebank(paths) for part, paths in files.items()}}


def add_evaluate_trees(commands: Commands) -> None:
    """Add the command to those of `python -m train`."""
    parser = commands.add_parser(
        "evaluate-trees", help="labelled F1, precision, recall and exact match of a model that parses"
    )
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument(
        "--trees",
        type=Path,
        required=True,
        metavar="FILE",
        help="the right trees, such as trees/test.mrg of what was prepared",
    )
    parser.add_argument("--beam-size", type=int, default=BEAM_SIZE, help="default: %(default)s")
    parser.add_argument("--length-penalty", type=float, default=LENGTH_PENALTY, help="default: %(default)s")
    parser.add_argument(
        "--write", type=Path, metavar="FILE", help="write the trees that were found, tagged as the right ones"
    )
    parser.add_argument("--json", action="store_true", help="print the score as JSON")
    add_device_option(parser)
    parser.set_defaults(run=_evaluate_trees)


def _evaluate_trees(options: argparse.Namespace) -> None:
    from train.eval.parseval import (  # its table writer takes time that no other command needs
        evaluate_trees,
        read_gold,
        with_tags,
    )

    parser, gold = Parser(Translator.from_checkpoint(options.checkpoint, options.device)), read_gold(options.trees)
    score, parses = evaluate_trees(parser, options.trees.name, gold, options.beam_size, options.length_penalty)
    if options.write:
        options.write.write_text("".join(f"{line}\n" for line in with_tags(parses, gold)), encoding="utf-8")
    print(json.dumps(score.facts(), indent=2, ensure_ascii=False) if options.json else score)
