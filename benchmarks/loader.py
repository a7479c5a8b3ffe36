"""Throughput of the data loader alone, which must exceed that of the GPU it feeds.

    python -m benchmarks.loader [--pairs 4500000] [--batch-tokens 25000] [--batches 400] [--data FOLDER]

Makes batches of about 25,000 source and as many target tokens, as for the paper's base model, from token shards on
disk, in one thread as in `fit`, and discards them. Prints tokens per second of both sides without padding, and the goal
for one H200. Copying to a GPU is not included. The text is synthetic: random tokens with lengths distributed as those
of sentences, by default as many pairs as in WMT14 EN-DE.
"""

import itertools
import math
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks import ratios
from train.data.batches import Batches, Position
from train.data.shard_writer import ShardWriter
from train.data.token_shards import TokenShards

GOAL = 1_400_000  # tokens per second of both sides: training the base model on one H200
VOCAB_SIZE = 37_000
CHUNK = 100_000  # pairs written at once


def write_synthetic(folder: Path, pairs: int) -> None:
    """Write shards of random tokens."""
    random = np.random.default_rng(1)
    with ShardWriter(folder, VOCAB_SIZE) as writer:
        for start in range(0, pairs, CHUNK):
            count = min(CHUNK, pairs - start)
            targets = random.lognormal(mean=math.log(24), sigma=0.6, size=count).clip(2, 200).astype(int)
            sources = (targets * random.normal(1.0, 0.15, len(targets))).clip(2, 200).astype(int)
            sides = [
                np.split(random.integers(3, VOCAB_SIZE, lengths.sum()), lengths.cumsum()[:-1])
                for lengths in (sources, targets)
            ]
            writer.append(*sides)


def main() -> None:
    """Measure and print the throughput."""
    parser = ratios.parser(__doc__, "little text: only checks that it works", batches=400)
    parser.add_argument("--pairs", type=int, default=4_500_000, help="pairs of synthetic text")
    parser.add_argument("--batch-tokens", type=int, default=25_000, help="most tokens of a batch, on each side")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help=ratios.DATA_HELP)
    options = parser.parse_args()
    if options.quick:
        options.pairs, options.batches = 50_000, 20
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.data / "train" if options.data else Path(temporary)
        if not options.data:
            write_synthetic(folder, options.pairs)
        rates = report(TokenShards(folder), options.batch_tokens, options.batches)
    ratios.save(options.json, {"loader: tokens/s / what one H200 is to train on": [rate / GOAL for rate in rates]})


def report(shards: TokenShards, batch_tokens: int, num_batches: int) -> list[float]:
    """Time the plan of an epoch and its batches, and return tokens per second for each quarter of the batches."""
    batches = Batches(shards, batch_tokens, seed=1)
    began = time.perf_counter()
    plan = batches.epoch(0)
    planned = time.perf_counter() - began
    print(
        f"{len(shards):,} pairs in {len(plan):,} batches, {100 * batches.padding(plan):.2f} % padding; an epoch is "
        f"planned in {planned:.1f} s"
    )

    groups = batches.groups(Position())
    next(groups)  # plans the epoch
    tokens, seconds = [], []
    began = time.perf_counter()
    for group in itertools.islice(groups, num_batches):
        ended = time.perf_counter()
        sides = (side for batch in group.batches for side in (batch.source, batch.target_out))
        tokens.append(sum(int((side != 0).sum()) for side in sides))
        seconds.append(ended - began)
        began = time.perf_counter()
    rate = sum(tokens) / sum(seconds)
    print(f"{rate:,.0f} tokens/s, {rate / GOAL:.1f} times the {GOAL:,} that one H200 is to train on")
    took = f"{1000 * statistics.median(seconds):.1f} ms, at most {1000 * max(seconds):.1f}"
    print(
        f"a batch takes {took}; a step at that speed takes {1000 * statistics.mean(tokens) / GOAL:.0f} ms; "
        f"{ratios.processor()}"
    )
    length = max(1, len(tokens) // 4)
    quarters = [slice(start, start + length) for start in range(0, len(tokens), length)]
    return [sum(tokens[quarter]) / sum(seconds[quarter]) for quarter in quarters]


if __name__ == "__main__":
    main()
