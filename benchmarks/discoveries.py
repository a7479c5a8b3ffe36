"""Look for discoveries in untrained models, in which there is nothing to discover, and print how many yield any.

    python -m benchmarks.discoveries [--models 100] [--preset tiny]

Not speed: the limit of `core.analysis.discoveries` is to let one model of a hundred pass, at most five by chance. With
`--preset en-de`, models of the shape of the shipped one, which take a core a minute each.
"""

import sys
from dataclasses import replace

import torch

from benchmarks import ratios
from benchmarks.capture import SHIPPED
from core import PRESETS, Transformer, Translator
from core.analysis.discoveries.search import discover
from core.formats.checkpoint import load_checkpoint

MOST = 0.05  # share of untrained models that may yield anything
FIRST_SEED = 1_000  # others than those of the random weights that the models are compared with


def main() -> int:
    """Print what is found; return 1 if it is too much."""
    parser = ratios.parser(__doc__, models=100)
    parser.add_argument("--preset", default="tiny", choices=list(PRESETS), help="shape of the models")
    arguments = parser.parse_args()
    tokenizer, yielding = load_checkpoint(SHIPPED).tokenizer, 0
    config = replace(PRESETS[arguments.preset], vocab_size=tokenizer.vocab_size)
    for seed in range(FIRST_SEED, FIRST_SEED + arguments.models):
        torch.manual_seed(seed)
        *_, found = discover(Translator(Transformer(config), tokenizer))
        yielding += bool(found.facts)
        for fact in found.facts:
            print(f"seed {seed}: {fact.title}, {fact.share:.3f} above {fact.limit:.3f}", flush=True)
    print(f"{yielding} of {arguments.models} untrained models ({arguments.preset}) yield anything")
    return yielding > MOST * arguments.models


if __name__ == "__main__":
    sys.exit(main())
