"""`python -m train table3`: rows of the paper's Table 3, side by side under one budget."""

import argparse
from pathlib import Path
from typing import Any

from core.device import best_device
from core.paper import TABLE_3
from train.cli.recipe_options import add_device_option, add_recipe_options, given_recipe
from train.data.token_shards import read_manifest
from train.eval.translation_scores import TestSet
from train.runs.allocator import tune_memory
from train.table3.experiment import Budget, Experiment

Commands = Any  # what argparse's add_subparsers returns has no public name
# What the rows and the budget decide.
DECIDED = ("steps", "minutes", "label_smoothing")


def add_table3(commands: Commands) -> None:
    """Add the command to the others."""
    parser = commands.add_parser(
        "table3", help="train and score rows of the paper's Table 3 under one budget; run it again to go on"
    )
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER", help="what `prepare` made")
    parser.add_argument(
        "--budget",
        required=True,
        metavar="STEPS | MINUTESm",
        help="what each row may use: 2000 for steps, 30m for minutes",
    )
    parser.add_argument(
        "--rows", nargs="+", default=list(TABLE_3), metavar="ROW", help=f"default: all of {', '.join(TABLE_3)}"
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="FOLDER",
        help="a run's folder for each row, table3.csv and table3.svg",
    )
    parser.add_argument(
        "--scale",
        type=int,
        default=1,
        metavar="N",
        help="divide d_model, d_ff, d_k and d_v of every row by N (default: 1)",
    )
    parser.add_argument(
        "--depth-scale", type=int, default=1, metavar="N", help="divide the layers of every row by N (default: 1)"
    )
    parser.add_argument(
        "--source", type=Path, metavar="FILE", help="text to score on (default: what the data is validated on)"
    )
    parser.add_argument("--target", type=Path, metavar="FILE", help="its translation")
    parser.add_argument("--sentences", type=int, metavar="N", help="score on the first N sentences only")
    parser.add_argument("--beam-size", type=int, default=4, help="default: %(default)s")
    add_device_option(parser)
    add_recipe_options(parser, without=DECIDED)
    parser.set_defaults(run=_table3)


def _table3(options: argparse.Namespace) -> None:
    if (options.source is None) != (options.target is None):
        raise ValueError("--source and --target go together: give both or neither")
    for name in ("scale", "depth_scale"):
        if getattr(options, name) < 1:
            raise ValueError(f"--{name.replace('_', '-')} ({getattr(options, name)}) must be at least 1")
    budget = Budget.parse(options.budget)
    if options.source:
        test_set = TestSet.read(options.source, options.target)
    else:
        read_manifest(options.data)  # says what is missing better than the files do
        test_set = TestSet.read(options.data / "valid.source.txt", options.data / "valid.target.txt")
    tune_memory()
    experiment = Experiment(
        data=options.data,
        folder=options.output,
        budget=budget,
        width=options.scale,
        depth=options.depth_scale,
        given=given_recipe(options),
        test_set=TestSet(test_set.name, test_set.pairs[: options.sentences]),
        beam_size=options.beam_size,
        device=best_device(options.device),
    )
    experiment.run(options.rows)
    print(options.output / "table3.csv")
