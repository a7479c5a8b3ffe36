"""`python -m train card`: a model card from the training facts of a checkpoint."""

import argparse
from pathlib import Path

from core.text.text_files import read_text
from train.card import write_card


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("checkpoint", type=Path, metavar="CHECKPOINT", help="a .safetensors checkpoint")
    parser.add_argument("-o", "--output", type=Path, help="the card (default: the checkpoint's name, ending in .md)")
    parser.add_argument(
        "--log", type=Path, help="the run's log.jsonl: its curves are drawn beside the card, and a thinned copy is kept"
    )
    parser.add_argument("--licences", type=Path, help="Markdown on the data's origins and licences")
    parser.add_argument("--limits", type=Path, help="Markdown on the model's weaknesses")
    parser.add_argument("--license", metavar="ID", help="licence of the weights, such as cc-by-4.0 or other")
    parser.add_argument(
        "--languages", nargs="+", default=[], metavar="CODE", help="codes of its languages, such as en de"
    )
    parser.add_argument(
        "--datasets", nargs="+", default=[], metavar="NAME", help="names of the data (default: its labels of origin)"
    )


def _card(options: argparse.Namespace) -> None:
    licences, limits = (read_text(path) if path else "" for path in (options.licences, options.limits))
    output = options.output or options.checkpoint.with_suffix(".md")
    write_card(
        options.checkpoint, output, options.log, licences, limits, options.license, options.languages, options.datasets
    )
    print(output)


COMMAND = ("write a model card from a checkpoint's training facts", _add_arguments, _card)
