"""`python -m train {prepare, fit}`: how weights come to be."""

import argparse
import json
import sys
from dataclasses import fields, replace
from pathlib import Path

import torch

from core.config import PRESETS
from train.data import DataError, read_manifest
from train.loop import fit, keep_freed_memory
from train.prepare import prepare
from train.recipe import Recipe, recipe_for


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m train", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    _add_prepare(commands)
    _add_fit(commands)
    options = parser.parse_args(arguments)
    try:
        options.run(options)
    except (DataError, ValueError, FloatingPointError, FileNotFoundError) as error:
        print(f"{parser.prog} {options.command}: {error}", file=sys.stderr)
        return 1
    return 0


def _add_prepare(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("prepare", help="parallel text to a tokenizer and token shards")
    parser.add_argument("folder", type=Path, help="where they go")
    for name in ("source", "target", "valid-source", "valid-target"):
        parser.add_argument(f"--{name}", nargs="+", required=True, metavar="FILE", help="plain, .gz or .xz; one sentence a line")
    parser.add_argument("--vocab-size", type=int, default=37_000, help="pieces of the joint vocabulary (default: %(default)s)")
    parser.add_argument("--tokenizer", type=Path, metavar="FILE", help="a SentencePiece model to use instead of learning one")
    parser.add_argument("--labels", type=Path, metavar="FILE", help="one label a training pair, such as its origin")
    parser.add_argument("--repeat", nargs="*", default=[], metavar="LABEL=TIMES", help="how often an epoch shows the pairs of a label")
    parser.set_defaults(run=_prepare)


def _prepare(options: argparse.Namespace) -> None:
    try:
        repeat = {label: int(times) for label, times in (item.split("=") for item in options.repeat)}
    except ValueError as error:
        raise DataError(f"--repeat wants LABEL=TIMES with a whole number, found {' '.join(options.repeat)}") from error
    manifest = prepare(
        options.folder,
        options.source,
        options.target,
        options.valid_source,
        options.valid_target,
        options.vocab_size,
        options.labels,
        repeat,
        options.tokenizer,
    )
    print(json.dumps(manifest, indent=2, ensure_ascii=False))


def _add_fit(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("fit", help="train a preset; run it again to go on where it stopped")
    parser.add_argument("preset", choices=sorted(PRESETS))
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER", help="what `prepare` made")
    parser.add_argument("--run", type=Path, required=True, metavar="FOLDER", dest="folder", help="the run's folder: log, snapshots, state")
    parser.add_argument("--device", type=torch.device, default=torch.device("cuda" if torch.cuda.is_available() else "cpu"))
    for field in fields(Recipe):
        kind = str if field.name == "precision" else type(field.default)
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=kind, help=f"default: the preset's, else {field.default}")
    parser.set_defaults(run=_fit)


def _fit(options: argparse.Namespace) -> None:
    given = {field.name: getattr(options, field.name) for field in fields(Recipe) if getattr(options, field.name) is not None}
    config = replace(PRESETS[options.preset], vocab_size=read_manifest(options.data)["vocab_size"])
    keep_freed_memory()
    fit(options.preset, config, replace(recipe_for(options.preset), **given), options.data, options.folder, options.device)


if __name__ == "__main__":
    sys.exit(main())
