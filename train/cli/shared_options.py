"""Options shared by several commands: the device, and the fields of a recipe."""

import argparse
from collections.abc import Collection, Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

from core.decoding.states import BEAM_SIZES, LENGTH_PENALTIES
from core.files.file_writing import write_text
from core.files.strict_json import readable_json
from core.inference.device import DEVICE_HELP
from train.card import RecordedScore, record_scores
from train.recipe import HELP, RANGES, Recipe


def add_device_option(parser: argparse.ArgumentParser) -> None:
    """Add `--device`, the argument of `core.inference.device.best_device`."""
    parser.add_argument("--device", help=DEVICE_HELP)


def add_evaluation_options(
    parser: argparse.ArgumentParser, beam_size: int, length_penalty: float, written: str, beam: str = "beam size"
) -> None:
    """Add what all evaluations take, with defaults of the search; `written` says what `--write` writes."""
    parser.add_argument("checkpoint", type=Path, metavar="CHECKPOINT", help="a .safetensors checkpoint")
    parser.add_argument("--beam-size", type=BEAM_SIZES, default=beam_size, help=beam)
    parser.add_argument(
        "--length-penalty", type=LENGTH_PENALTIES, default=length_penalty, help="exponent of the length penalty"
    )
    parser.add_argument("--write", type=Path, metavar="PATH", help=f"write {written}")
    parser.add_argument("--json", action="store_true", help="print the scores as JSON")
    parser.add_argument("--record", action="store_true", help="add the scores to the checkpoint's training facts")
    add_device_option(parser)


def finish_evaluation(options: argparse.Namespace, results: Iterable[tuple[str, RecordedScore, Iterable[str]]]) -> None:
    """Print the score of each test set, by name, and write its lines; print all as JSON or record them if requested."""
    scores: list[RecordedScore] = []
    for name, score, lines in results:
        scores.append(score)
        if not options.json:
            print(score)
        if options.write:
            options.write.mkdir(parents=True, exist_ok=True)
            write_text(options.write / f"{name}.txt", "".join(f"{line}\n" for line in lines))
    if options.json:
        print(readable_json([score.facts() for score in scores]))
    if options.record:
        record_scores(options.checkpoint, scores)


def add_recipe_options(parser: argparse.ArgumentParser, preset: str, without: Collection[str] = ()) -> None:
    """Add an option for each field of `Recipe` that a command does not set itself, with the defaults of `preset`."""
    group = parser.add_argument_group(
        "recipe", f"The defaults are {preset}, which `python -m train presets` lists; the base model's are in brackets."
    )
    for field in fields(Recipe):
        if field.name not in without:
            group.add_argument(
                f"--{field.name.replace('_', '-')}",
                type=RANGES.get(field.name, str),
                metavar=type(field.default).__name__.upper(),
                help=f"{HELP[field.name]} [{field.default}]",
            )


def given_recipe(options: argparse.Namespace) -> dict[str, Any]:
    """Return the fields of `Recipe` given on the command line."""
    given = {field.name: getattr(options, field.name, None) for field in fields(Recipe)}
    return {name: value for name, value in given.items() if value is not None}
