"""`python -m train presets`: what every preset is, and what was measured where it was trained; nothing of those that
were not.
"""

import argparse
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from core.checkpoint import load_checkpoint
from core.config import PRESETS
from core.model import Transformer
from train.recipe import recipe_for

SHIPPED = Path(__file__).resolve().parent.parent / "checkpoints"
Facts = dict[str, Any]

# What was measured in runs whose checkpoints are not shipped, or do not know of it, a line each.
MEASURED = {
    "en-de": ("2.81 GB of memory at most, in 100 steps from random parameters on two cores of an Intel Xeon (AMX)",),
    "multi30k": (
        "7,000 steps of 0.59 s in bfloat16, 69 minutes, on one core of an Intel Xeon (AMX) whose other core did other "
        "work; "
        "45 minutes in another run, on two idle cores; 1.43 GB of memory at most in an earlier run",
        "test_2016_flickr: BLEU 40.30 (nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0), 40.72 lower-cased "
        "and tokenized; see README.md",
        "test_2017_flickr: BLEU 32.60, 32.77 lower-cased and tokenized",
        "the run on two cores: 40.22 and 40.55 on test_2016_flickr, 32.89 and 33.06 on test_2017_flickr",
    ),
    "parsing-small": (
        "237 trees of wsj_0181 to 0199, trained on 3,401 of NLTK's sample of the Penn Treebank: F1 45.56, as EVALB "
        "with COLLINS.prm; see parsing.md",
    ),
}


def add_presets(commands: Any) -> None:
    """Add the command to the others."""
    parser = commands.add_parser("presets", help="what each preset is, and its measured time, memory and scores")
    parser.add_argument(
        "checkpoints",
        type=Path,
        nargs="*",
        metavar="FILE",
        help="checkpoints whose records to read (default: the shipped ones)",
    )
    parser.set_defaults(run=_presets)


def _presets(options: argparse.Namespace) -> None:
    for line in described(options.checkpoints or sorted(SHIPPED.glob("*.safetensors"))):
        print(line)


def described(checkpoints: Sequence[Path]) -> Iterator[str]:
    """Some lines for every preset; what was measured comes from the checkpoints' own records, and from `MEASURED`.

    Raises:
        CheckpointError: a file is not a checkpoint.
    """
    records = [(path, load_checkpoint(path).training) for path in checkpoints]
    for preset in PRESETS:
        yield f"{preset}: {_planned(preset)}"
        measured = [
            _measured(path, facts) for path, facts in records if facts.get("preset") == preset and facts.get("steps")
        ]
        lines = [*itertools.chain(*measured), *MEASURED.get(preset, ())]
        yield from (f"  {line}" for line in lines or ["not measured"])


def _planned(preset: str) -> str:
    config, recipe = PRESETS[preset], recipe_for(preset)
    with torch.device("meta"):
        parameters = sum(parameter.numel() for parameter in Transformer(config).parameters())
    layers = f"{config.num_encoder_layers} + {config.num_decoder_layers} layers, d_model {config.d_model}"
    vocabulary = f"{config.vocab_size:,} pieces"
    return (
        f"{parameters / 1e6:.1f} M parameters with {vocabulary}, {layers}; recipe: {recipe.steps:,} steps of "
        f"{recipe.batch_tokens:,} tokens a side"
    )


def _measured(path: Path, facts: Facts) -> list[str]:
    """What one checkpoint says of its training, the scores last; facts that it does not have are left out."""
    said = [f"{path.name}: {facts['steps']:,} steps"]
    if "steps" in facts.get("init", {}):
        said[0] += f" after {facts['init']['steps']:,} of another run"
    if "hours" in facts:
        said.append(f"{facts['hours']} hours")
    if "memory_gb" in facts:
        said.append(f"{facts['memory_gb']} GB of memory")
    if "hardware" in facts:
        said.append(f"on {facts['hardware']}")
    scores = [
        f"{score['test_set']}: BLEU {score['bleu']} ({score['bleu_signature']}), perplexity {score['perplexity']} a "
        f"piece"
        for score in facts.get("scores", [])
    ]
    card = [f"see {path.with_suffix('.md').name} for how it was measured"] if path.with_suffix(".md").exists() else []
    return [", ".join(said), *scores, *card]
