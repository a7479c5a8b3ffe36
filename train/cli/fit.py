"""`python -m train fit`: train a preset on prepared data."""

import argparse
from dataclasses import replace
from pathlib import Path

from core.files.number_range import NumberRange
from core.inference.device import best_device
from core.model.preset_configs import PRESETS
from train.cli.shared_options import add_device_option, add_recipe_options, given_recipe
from train.data.token_shards import read_manifest
from train.loop import fit
from train.recipe import fitted_to_minutes, recipe_for
from train.runs.allocator import tune_memory
from train.runs.run_folder import RunFolder


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("preset", choices=sorted(PRESETS), metavar="PRESET", help=f"one of {', '.join(PRESETS)}")
    parser.add_argument(
        "--data", type=Path, required=True, metavar="FOLDER", help="output folder of a `prepare` command"
    )
    parser.add_argument(
        "--run",
        type=Path,
        required=True,
        metavar="FOLDER",
        dest="folder",
        help="the run's folder, for its log, snapshots and state",
    )
    parser.add_argument("--init", type=Path, help="start from the parameters of this checkpoint (default: random ones)")
    parser.add_argument(
        "--dropout",
        type=NumberRange(float, 0, 1, below=True),
        metavar="FLOAT",
        help="dropout of the model (default: the preset's; base 0.1, big 0.3, big-en-fr 0.1)",
    )
    add_device_option(parser)
    parser.add_argument(
        "--compile", action="store_true", help="compile the steps with torch.compile, for --bucketing packed on a GPU"
    )
    add_recipe_options(parser, "the preset's")


def _fit(options: argparse.Namespace) -> None:
    config = replace(PRESETS[options.preset], vocab_size=read_manifest(options.data)["vocab_size"])
    if options.dropout is not None:
        config = replace(config, dropout=options.dropout)
    recipe, given, device = recipe_for(options.preset), given_recipe(options), best_device(options.device)
    if "minutes" in given:
        fitted = fitted_to_minutes(recipe, given["minutes"], device.type == "cpu")
        begun = RunFolder(options.folder).record.recipe()
        kept = {name: begun[name] for name in ("batch_tokens", "schedule") if begun}
        given = {**fitted, **kept, **given}
    recipe = replace(recipe, **given)
    if options.compile and recipe.bucketing != "packed":
        raise ValueError(
            f"--compile needs --bucketing packed: batches of bucketing {recipe.bucketing} have too many shapes"
        )
    tune_memory()
    fit(options.preset, config, recipe, options.data, options.folder, device, options.init, options.compile)


COMMAND = ("train a preset; run again to resume", _add_arguments, _fit)
