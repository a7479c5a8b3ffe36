"""`python -m core convert`: a checkpoint of another project to a file of Headlight."""

import argparse
import sys
from pathlib import Path

import torch

from core.checkpoint import Checkpoint, save_checkpoint
from core.formats.importing import import_checkpoint


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
    config, facts = checkpoint.config, checkpoint.training["imported"]
    sizes = f"{config.vocab_size:,} tokens" + (
        f" of sources, {config.target_size:,} of targets" if config.target_vocab_size else ""
    )
    tied = {
        "all": "both embeddings and the output projection are one matrix",
        "target": "the target's embedding and the output projection are one matrix",
        "inputs": "both embeddings are one matrix",
        "none": "three different matrices",
    }
    search = ", ".join(f"{name} {value}" for name, value in facts["search"].items())
    lines = {
        "format": facts["format"],
        "parameters": f"{sum(parameter.numel() for parameter in checkpoint.model.parameters()):,}",
        "layers": f"{config.num_encoder_layers} + {config.num_decoder_layers}, {config.head_counts} heads",
        "vocabulary": sizes,
        "matrices": tied[config.tied],
        "positions": f"{config.positions}, {config.position_order}, exponent {config.position_exponent}",
        "target languages": ", ".join(facts["target languages"]) or "one",
        "search of the source": search or "not given",
        "options not applied": ", ".join(facts["options not applied"]) or "none",
    }
    width = max(map(len, lines))
    return [f"{name:<{width}}  {value}" for name, value in lines.items()]
