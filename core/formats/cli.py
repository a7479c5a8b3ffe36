"""`python -m core convert`: a checkpoint of another project to a file of Headlight."""

import argparse
import sys
from pathlib import Path

import torch

from core.checkpoint import Checkpoint, save_checkpoint
from core.formats.importing import import_checkpoint
from core.formats.model_facts import model_facts


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the options of `convert`."""
    parser.add_argument("sources", type=Path, nargs="+", metavar="SOURCE", help="a folder, a zip archive, or the files")
    parser.add_argument("output", type=Path, metavar="OUT", help="the .safetensors file to write")


def run(options: argparse.Namespace) -> None:
    """Convert, and print a report.

    Parameters keep their precision.

    Raises:
        CheckpointError: see `import_checkpoint`.
        ValueError: the output has another suffix than `.safetensors`.
    """
    if options.output.suffix != ".safetensors":
        raise ValueError(f"{options.output} must end in .safetensors: give the sources first, then the output")
    checkpoint = import_checkpoint(options.sources)
    types = checkpoint.training["imported"]["stored as"]
    dtype = {"F16": torch.float16, "BF16": torch.bfloat16}.get(types[0] if len(types) == 1 else "", torch.float32)
    save_checkpoint(options.output, checkpoint.model, checkpoint.tokenizer, checkpoint.training, dtype)
    print("\n".join(report(checkpoint)))
    print(f"{options.output}: {options.output.stat().st_size / 1e6:.1f} MB", file=sys.stderr)


def report(checkpoint: Checkpoint) -> list[str]:
    """Lines about an imported model."""
    lines = model_facts(checkpoint.model, checkpoint.tokenizer, checkpoint.training)
    width = max(map(len, lines))
    return [f"{name:<{width}}  {value}" for name, value in lines.items()]
