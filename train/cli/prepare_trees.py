"""`python -m train prepare-trees`: Penn Treebank trees for a parser (6.3)."""

import argparse
from pathlib import Path

from core.files.number_range import FROM_1
from core.files.strict_json import readable_json
from train.data.parallel_text import TEXT_FORMATS
from train.data.token_shards import DataError
from train.data.treebank import PARTS, PURPOSES, Treebank, prepare_trees


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, help="output folder")
    parser.add_argument(
        "--trees",
        type=Path,
        nargs="+",
        required=True,
        help=f"bracketed training trees, or with --ids all trees: {TEXT_FORMATS}",
    )
    for part in PARTS[1:]:
        parser.add_argument(
            f"--{part}-trees",
            type=Path,
            nargs="+",
            default=[],
            help=f"bracketed {PURPOSES[part]} trees: {TEXT_FORMATS}",
        )
    parser.add_argument(
        "--ids", type=Path, help=f"one id for each tree, such as wsj_0001, by which --trees is divided: {TEXT_FORMATS}"
    )
    for part in PARTS:
        parser.add_argument(
            f"--{part}", nargs=2, metavar=("FIRST", "LAST"), help=f"ids of the {PURPOSES[part]} trees, both included"
        )
    parser.add_argument(
        "--vocab-size",
        type=FROM_1,
        default=16_000,
        help="pieces of the joint vocabulary (default: %(default)s, as in the paper's WSJ setting)",
    )
    parser.add_argument(
        "--phrases",
        action="store_true",
        help="also train on every phrase of the trees as a sentence: helps with few trees",
    )
    leaves = parser.add_mutually_exclusive_group()
    leaves.set_defaults(leaves="placeholders")
    for name, written in (("tags", "the tags of the words"), ("words", "the words and their tags")):
        leaves.add_argument(
            f"--{name}",
            action="store_const",
            dest="leaves",
            const=name,
            help=f"let the model also write {written}: helps with few trees",
        )
    parser.add_argument(
        "--overwrite", action="store_true", help="replace the folder's content even if it was prepared from other trees"
    )


def _prepare_trees(options: argparse.Namespace) -> None:
    manifest = prepare_trees(
        options.folder, _parts(options), options.vocab_size, options.phrases, options.leaves, options.overwrite
    )
    print(readable_json(manifest))


def _parts(options: argparse.Namespace) -> dict[str, Treebank]:
    """Return the training, validation and test trees."""
    ranges = {part: getattr(options, part) for part in PARTS if getattr(options, part)}
    files = {part: getattr(options, f"{part}_trees") for part in PARTS[1:] if getattr(options, f"{part}_trees")}
    if options.ids:
        if files or not {"train", "valid"} <= ranges.keys():
            raise DataError(
                "--ids divides --trees: give --train FIRST LAST and --valid FIRST LAST with it, and no other files"
            )
        return {part: Treebank(options.trees, options.ids, *ends) for part, ends in ranges.items()}
    if ranges:
        raise DataError(f"--{next(iter(ranges))} selects trees by id: give the file of ids with --ids")
    if "valid" not in files:
        raise DataError("there are no validation trees: give --valid-trees, or --ids with --train and --valid")
    return {"train": Treebank(options.trees), **{part: Treebank(paths) for part, paths in files.items()}}


SUMMARY = "turn Penn Treebank trees into a tokenizer and token shards, to train a parser"
COMMAND = (SUMMARY, _add_arguments, _prepare_trees)
