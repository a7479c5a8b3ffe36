"""Training speed on a CPU, beside a plain loop around `torch.nn.Transformer`.

    python -m benchmarks.training [--threads 2] [--preset en-de] [--rounds 9] [--data FOLDER] [--clock wall]

Both sides have the same shape, batches (padding included), dropout and label smoothing. The plain loop computes in
float32, with one embedding for source, target and output, `nn.CrossEntropyLoss` and `torch.optim.Adam`; Headlight in
the faster precision, with its own cross-entropy and fused Adam. Each side has its own process; they take turns, so that
other load affects both alike. The result is the ratio. The defaults take about two minutes on two cores. The text is
synthetic: random tokens with lengths distributed as those of sentences.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks import ratios, turns
from core.model import sinusoidal_encoding
from core.model.config import TransformerConfig
from core.model.preset_configs import PRESETS
from core.model.training import ADAM_BETAS, ADAM_EPS
from train.data.batches import Batches, cut
from train.data.token_shards import Batch, TokenShards, make_batch, read_manifest
from train.distributed import World
from train.precision import measure_precisions, resolve_precision
from train.recipe import recipe_for
from train.runs.allocator import tune_memory
from train.runs.checkpointing import autocast
from train.runs.training_state import Training

WARM_UP = 2  # untimed steps of each side
RATE = 1e-4
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
Step = Callable[[Batch], float]


@dataclass(frozen=True)
class TrainingWork:
    """Settings shared by both sides."""

    preset: str
    vocab_size: int
    batch_tokens: int
    data: Path | None
    threads: int
    num_batches: int
    clock: str
    precision: str
    side: str = ""

    def config(self) -> TransformerConfig:
        return replace(PRESETS[self.preset], vocab_size=self.vocab_size)

    def batches(self) -> list[Batch]:
        """Return the first batches of an epoch of the data, or of synthetic text."""
        if self.data:
            shards = TokenShards(self.data / "train")
            plan = Batches(shards, self.batch_tokens, seed=1).epoch(0)
            return [shards.batch(indices) for indices in plan[: self.num_batches]]
        random = np.random.default_rng(1)
        targets = random.lognormal(mean=math.log(18), sigma=0.55, size=100 * self.num_batches).clip(3, 120).astype(int)
        sources = (targets * random.normal(1.0, 0.15, len(targets))).clip(3, 120).astype(int)
        pairs = [
            tuple(random.integers(3, self.vocab_size, length).tolist() for length in both)
            for both in zip(sources, targets, strict=True)
        ]
        longest = np.maximum(sources, targets) + 1
        order = longest.argsort(kind="stable")
        plan = cut(order, longest[order], self.batch_tokens)
        places = np.linspace(0, len(plan) - 2, self.num_batches)
        chosen = [plan[int(place)] for place in places] if len(plan) > 1 else plan
        return [make_batch([pairs[index] for index in indices]) for indices in chosen]


def headlight(work: TrainingWork) -> Step:
    """Return a training step of Headlight, which returns the loss per token."""
    tune_memory()
    recipe = replace(recipe_for(work.preset), batch_tokens=work.batch_tokens, precision=work.precision)
    world = World(torch.device("cpu"))
    training = Training(work.config(), recipe, world)
    recipe, note = resolve_precision(recipe, None, measure_precisions(training.model, recipe.batch_tokens))
    print(note or f"precision {recipe.precision}", flush=True)
    training.set_rate(RATE)

    def step(batch: Batch) -> float:
        with autocast(recipe, world.device):
            loss = training.loss_of(batch)
        (loss.smoothed / batch.num_tokens).backward()
        training.optimizer.step()
        training.optimizer.zero_grad()
        return float(loss.smoothed.detach()) / batch.num_tokens

    return step


class PlainTransformer(nn.Module):
    """`nn.Transformer` with sinusoidal positions and one embedding for both sides and the output."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        nn.init.normal_(self.embedding.weight, std=config.d_model**-0.5)
        self.dropout = nn.Dropout(config.dropout)
        self.transformer = nn.Transformer(
            config.d_model,
            config.num_heads,
            config.num_encoder_layers,
            config.num_decoder_layers,
            config.d_ff,
            config.dropout,
            batch_first=True,
        )
        self.register_buffer("positions", sinusoidal_encoding(512, config.d_model))

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        source_padding, target_padding = source == self.config.pad_id, target == self.config.pad_id
        states = self.transformer(
            self.embed(source),
            self.embed(target),
            tgt_mask=nn.Transformer.generate_square_subsequent_mask(target.size(1), dtype=torch.bool),
            src_key_padding_mask=source_padding,
            tgt_key_padding_mask=target_padding,
            memory_key_padding_mask=source_padding,
            tgt_is_causal=True,
        )
        return F.linear(states, self.embedding.weight)

    def embed(self, ids: Tensor) -> Tensor:
        positions = self.get_buffer("positions")[: ids.size(1)]
        return self.dropout(self.embedding(ids) * math.sqrt(self.config.d_model) + positions)


def plain(work: TrainingWork) -> Step:
    """Return a training step of the plain loop, which returns the loss per token."""
    config = work.config()
    model = PlainTransformer(config).train()
    loss_of = nn.CrossEntropyLoss(ignore_index=config.pad_id, label_smoothing=recipe_for(work.preset).label_smoothing)
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE, betas=ADAM_BETAS, eps=ADAM_EPS)

    def step(batch: Batch) -> float:
        logits = model(batch.source, batch.target_in)
        loss = loss_of(logits.flatten(0, 1), batch.target_out.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return float(loss.detach())

    return step


SIDES = {"Headlight": headlight, "nn.Transformer": plain}


def serve(work: TrainingWork, connection: Connection) -> None:
    """For each message, take a step on every batch and answer with target tokens per second."""
    torch.set_num_threads(work.threads)
    torch.manual_seed(0)
    step, clock, batches = SIDES[work.side](work), CLOCKS[work.clock], work.batches()
    for batch in batches[:WARM_UP]:
        step(batch)
    connection.send(sum(batch.num_tokens for batch in batches))
    while connection.recv():
        began = clock()
        losses = [step(batch) for batch in batches]
        seconds = clock() - began
        if not all(map(math.isfinite, losses)):
            raise RuntimeError(f"{work.side}: the losses are {losses}, which is not training: the measurement is void")
        connection.send(sum(batch.num_tokens for batch in batches) / seconds)


def main() -> None:
    """Run both sides in turns, and print their speeds and the ratio."""
    parser = ratios.parser(__doc__, "one small batch and one turn: only checks that it works", threads=2)
    parser.add_argument("--preset", choices=sorted(PRESETS), default="en-de", help="preset of the model's shape")
    parser.add_argument("--vocab-size", type=int, help="default: that of --data, else the preset's")
    parser.add_argument("--batch-tokens", type=int, default=4_096, help="most tokens of a batch, on each side")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help=ratios.DATA_HELP)
    parser.add_argument("--batches", type=int, default=3, help="steps of each turn")
    parser.add_argument("--rounds", type=int, default=9, help="turns of each side")
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--precision", default="auto", help="precision of Headlight: auto, bfloat16 or float32")
    options = parser.parse_args()
    facts = read_manifest(options.data) if options.data else vars(PRESETS[options.preset])
    vocab_size = options.vocab_size or facts["vocab_size"]
    if options.quick:
        options.batches, options.batch_tokens = 1, 512
    work = TrainingWork(
        options.preset,
        vocab_size,
        options.batch_tokens,
        options.data,
        options.threads,
        options.batches,
        options.clock,
        options.precision,
    )

    with turns.processes(serve, {side: replace(work, side=side) for side in SIDES}) as connections:
        tokens = {connection.recv() for connection in connections.values()}
        if len(tokens) > 1:
            raise RuntimeError(f"the two sides have batches of {tokens} target tokens: they do not do the same work")
        rates = turns.take(connections, dict.fromkeys(connections, True), 1 if options.quick else options.rounds)

    print(f"{work}; {tokens.pop():,} target tokens a turn; {ratios.processor()}")
    for side, speeds in rates.items():
        print(f"{side:<15} {turns.spread(speeds, '.0f')} target tokens/s")
    per_turn = [ours / theirs for ours, theirs in zip(*rates.values(), strict=True)]
    print(f"Headlight is {turns.spread(per_turn)} times as fast (median and range of {len(per_turn)} turns)")
    ratios.save(options.json, {f"{options.preset}: Headlight / nn.Transformer": per_turn})


if __name__ == "__main__":
    main()
