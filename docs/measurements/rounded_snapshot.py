"""Measure what rounding to 8 bits changes in the last snapshot of a history.

python docs/measurements/rounded_snapshot.py checkpoints/en-de.history.zip --checkpoint checkpoints/en-de.safetensors

Compares it with the checkpoint itself on the sample of the page Over training, each given the snapshot's greedy
translations. `-o FILE` writes the snapshot, for `python -m train evaluate FILE`.
"""

import argparse
import time
from itertools import chain
from pathlib import Path

import torch

from core import Translator, save_checkpoint
from core.history import open_history
from viz_app.session.sample_sentences import SHIPPED


def main() -> None:
    """Print the time of opening, and what rounding changes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("history", type=Path, help="a file of `train history --eight-bits`")
    parser.add_argument("--checkpoint", type=Path, required=True, help="what the last snapshot was rounded from")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="write the snapshot to this .safetensors file"
    )
    arguments = parser.parse_args()
    started = time.perf_counter()
    history = open_history(arguments.history)
    print(f"{len(history.steps)} snapshots, opened in {time.perf_counter() - started:.1f} s")
    exact = Translator.from_checkpoint(arguments.checkpoint)
    step = history.steps[-1]
    rounded = history.translator(step)
    nats: list[float] = []
    weights: list[torch.Tensor] = []
    num_same = 0
    for text in SHIPPED:
        target = rounded.translate(text, beam_size=1).hypotheses[0].token_ids
        num_same += exact.translate(text).text == rounded.translate(text).text
        one, other = (each.explain(text, target) for each in (exact, rounded))
        nats += [abs(a - b) for a, b in zip(one.log_probs, other.log_probs, strict=True)]
        for a, b in zip(chain(*one.maps.values()), chain(*other.maps.values()), strict=True):
            weights.append((a.weights - b.weights).abs().flatten())
    differences = torch.cat(weights)
    print(f"step {step:,}, {len(nats)} tokens: {sum(nats) / len(nats):.4f} nats on average, {max(nats):.2f} at most")
    print(f"{len(differences):,} weights: {differences.mean():.4f} on average, {differences.max():.2f} at most")
    print(f"{num_same} of {len(SHIPPED)} translations are the same (beam 4)")
    if arguments.output:
        found = history.checkpoint(step)
        save_checkpoint(arguments.output, found.model, found.tokenizer, found.training)


if __name__ == "__main__":
    main()
