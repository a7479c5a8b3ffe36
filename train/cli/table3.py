"""`python -m train table3`: rows of the paper's Table 3 trained under one budget."""

import argparse
from pathlib import Path

from core.analysis.model_variations import TABLE_3
from core.decoding.states import BEAM_SIZES
from core.files.number_range import FROM_1, SEEDS
from core.inference.device import best_device
from train.cli.shared_options import add_device_option, add_recipe_options, given_recipe
from train.data.parallel_text import TEXT_FORMATS
from train.data.token_shards import read_manifest
from train.eval.translation_scores import TestSet
from train.runs.allocator import tune_memory
from train.table3.experiment import WARMUP_SHARE, Budget, Experiment

SET_ELSEWHERE = ("steps", "minutes", "label_smoothing", "seed")  # by the budget, by rows, by --seed of many


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = f"With a budget of steps, the default of --warmup is at most 1/{WARMUP_SHARE} of them."
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER", help="output folder of `prepare`")
    parser.add_argument(
        "--budget",
        required=True,
        metavar="STEPS | MINUTESm",
        help="budget of each row: 2000 for steps, 30m for minutes",
    )
    parser.add_argument(
        "--rows", nargs="+", default=list(TABLE_3), metavar="ROW", help=f"rows to train (default: {', '.join(TABLE_3)})"
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="FOLDER",
        help="output folder: a run's folder for each row, table3.csv and table3.svg",
    )
    parser.add_argument("--scale", type=FROM_1, default=1, help="divide d_model, d_ff, d_k and d_v of every row by N")
    parser.add_argument("--depth-scale", type=FROM_1, default=1, help="divide the layers of every row by N")
    parser.add_argument(
        "--seed",
        dest="seeds",
        type=SEEDS,
        nargs="+",
        default=[],
        help="train each row once with each of these seeds, which shows what is chance (default: the preset's seed)",
    )
    parser.add_argument(
        "--source",
        type=Path,
        help=f"source side of the test set (default: the validation text of --data): {TEXT_FORMATS}",
    )
    parser.add_argument("--target", type=Path, help="target side of the test set")
    parser.add_argument("--sentences", type=FROM_1, help="score only the first N sentences (default: all)")
    parser.add_argument("--beam-size", type=BEAM_SIZES, default=4, help="beam size")
    add_device_option(parser)
    add_recipe_options(parser, "each row's preset's", without=SET_ELSEWHERE)


def _table3(options: argparse.Namespace) -> None:
    if (options.source is None) != (options.target is None):
        raise ValueError("--source and --target go together: give both or neither")
    budget = Budget.parse(options.budget)
    if options.source:
        test_set = TestSet.read(options.source, options.target)
    else:
        read_manifest(options.data)  # raises a clearer error than the missing files would
        test_set = TestSet.read(options.data / "valid.source.txt", options.data / "valid.target.txt")
    tune_memory()
    experiment = Experiment(
        data=options.data,
        folder=options.output,
        budget=budget,
        width=options.scale,
        depth=options.depth_scale,
        given=given_recipe(options),
        seeds=tuple(dict.fromkeys(options.seeds)),
        test_set=TestSet(test_set.name, test_set.pairs[: options.sentences]),
        beam_size=options.beam_size,
        device=best_device(options.device),
    )
    experiment.run(options.rows)
    print(options.output / "table3.csv")


COMMAND = ("train and score rows of the paper's Table 3 under one budget; run again to resume", _add_arguments, _table3)
