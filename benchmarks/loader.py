"""How many tokens a second the data loader delivers by itself: a GPU that trains on fewer is never kept waiting.

    python benchmarks/loader.py [--pairs 4500000] [--batch-tokens 25000] [--batches 400] [--data FOLDER]

It makes batches of about 25,000 source and as many target tokens, as the paper's base model is trained on, from token
shards on the disk, in the one thread that `fit` gives it, and does nothing with them. What it prints is tokens of both
sides, padding not counted, beside the goal for one H200. Copying to a GPU is not in it. The text is made up: random
tokens whose lengths are spread as those of sentences are, by default as many pairs as WMT14 EN-DE has.
"""

import argparse
import itertools
import math
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from train.data import Batches, Position, TokenShards
from train.shards import ShardWriter

GOAL = 1_400_000  # tokens of both sides a second, of the base model on one H200
VOCAB_SIZE = 37_000
CHUNK = 100_000  # pairs written at once


def write_made_up(folder: Path, pairs: int) -> None:
    """Shards of random tokens."""
    random = np.random.default_rng(1)
    with ShardWriter(folder, VOCAB_SIZE) as writer:
        for start in range(0, pairs, CHUNK):
            targets = random.lognormal(mean=math.log(24), sigma=0.6, size=min(CHUNK, pairs - start)).clip(2, 200).astype(int)
            sources = (targets * random.normal(1.0, 0.15, len(targets))).clip(2, 200).astype(int)
            sides = [np.split(random.integers(3, VOCAB_SIZE, lengths.sum()), lengths.cumsum()[:-1]) for lengths in (sources, targets)]
            writer.append(*sides)


def main() -> None:
    """Make batches, and print how fast they came."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=4_500_000, help="of made-up text (default: %(default)s)")
    parser.add_argument("--batch-tokens", type=int, default=25_000, help="at most so many a side and batch (default: %(default)s)")
    parser.add_argument("--batches", type=int, default=400, help="default: %(default)s")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="what `python -m train prepare` made, in place of made-up text")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.data / "train" if options.data else Path(temporary)
        if not options.data:
            write_made_up(folder, options.pairs)
        report(TokenShards(folder), options.batch_tokens, options.batches)


def report(shards: TokenShards, batch_tokens: int, num_batches: int) -> None:
    """Time the plan of an epoch, and the batches after it."""
    batches = Batches(shards, batch_tokens, seed=1)
    began = time.perf_counter()
    plan = batches.epoch(0)
    planned = time.perf_counter() - began
    print(f"{len(shards):,} pairs in {len(plan):,} batches, {100 * batches.padding(plan):.2f} % padding; an epoch is planned in {planned:.1f} s")

    groups = batches.groups(Position())
    next(groups)  # plans the epoch
    tokens, seconds = [], []
    began = time.perf_counter()
    for group in itertools.islice(groups, num_batches):
        ended = time.perf_counter()
        tokens.append(sum(int((side != 0).sum()) for batch in group.batches for side in (batch.source, batch.target_out)))
        seconds.append(ended - began)
        began = time.perf_counter()
    rate = sum(tokens) / sum(seconds)
    print(f"{rate:,.0f} tokens/s, {rate / GOAL:.1f} times the {GOAL:,} that one H200 is to train on")
    took = f"{1000 * statistics.median(seconds):.1f} ms, at most {1000 * max(seconds):.1f}"
    print(f"a batch takes {took}; a step at that speed takes {1000 * statistics.mean(tokens) / GOAL:.0f} ms")


if __name__ == "__main__":
    main()
