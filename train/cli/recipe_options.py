"""Options that several commands have: a device, and the fields of a recipe."""

import argparse
from collections.abc import Collection
from dataclasses import fields
from typing import Any

from core.device import DEVICE_HELP
from train.recipe import Recipe


def add_recipe_options(parser: argparse.ArgumentParser, without: Collection[str] = ()) -> None:
    """An option for every field of a recipe but those that the command decides itself."""
    for field in fields(Recipe):
        if field.name not in without:
            kind: type = type(field.default)
            parser.add_argument(
                f"--{field.name.replace('_', '-')}", type=kind, help=f"default: the preset's, else {field.default}"
            )


def add_device_option(parser: argparse.ArgumentParser) -> None:
    """`--device`, which `core.device.best_device` takes."""
    parser.add_argument("--device", help=DEVICE_HELP)


def given_recipe(options: argparse.Namespace) -> dict[str, Any]:
    """The fields that were given."""
    given = {field.name: getattr(options, field.name, None) for field in fields(Recipe)}
    return {name: value for name, value in given.items() if value is not None}
