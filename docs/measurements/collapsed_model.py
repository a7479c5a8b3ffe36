"""Train a small model until it is worse without dropout than with it, and measure why.

python -m train prepare DATA --set multi30k --vocab-size 1000
python docs/measurements/collapsed_model.py DATA

Prints the loss on training text, in nats per token, with dropout, without it, with other noise in its place, or where
each target position attends to itself only. A cosine of 1 means that all states of a batch are alike. See
docs/training.md.
"""

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional as F

from core.model import Dropout, Transformer
from core.model.preset_configs import PRESETS
from core.model.schedule import learning_rate
from train.data.batches import Batches, Position
from train.data.token_shards import Batch, TokenShards
from train.loss import TranslationLoss

Noise = Callable[[Tensor], Tensor]
P = 0.2
CONFIG = replace(PRESETS["base"], vocab_size=1000, d_model=64, d_ff=256, num_heads=4, dropout=P)
BATCH_TOKENS, MAX_LENGTH, PASSES, MAX_STEPS, GAP = 1000, 64, 4, 600, 0.5  # the gap in nats per token
FIXED_MASKS = torch.rand(MAX_LENGTH + 1, CONFIG.d_model, generator=torch.Generator().manual_seed(1)) >= P

NOISES: dict[str, Noise] = {
    "none": lambda x: x,
    "dropout": lambda x: F.dropout(x, P),
    "Gaussian of the same variance": lambda x: x + x * torch.randn_like(x) * (P / (1 - P)) ** 0.5,
    "dropout, one mask for all positions of a sentence": lambda x: x * F.dropout(torch.ones_like(x[:, :1]), P),
    "one fixed mask for each position, of all sentences": lambda x: x * FIXED_MASKS[: x.size(1)] / (1 - P),
    "dropout at the first position only": lambda x: torch.cat([F.dropout(x[:, :1], P), x[:, 1:]], 1),
}


@torch.no_grad()
def predictions(model: Transformer, batches: list[Batch], noise: Noise, at: str = "") -> tuple[Tensor, float, float]:
    """Mean probabilities [N, V] of some passes, their mean loss, and the mean cosine of two decoder states of a batch.

    `noise` replaces dropout in the modules whose names begin with `at`; the others have none.
    """
    model.eval()
    dropouts = [each for name, each in model.named_modules() if isinstance(each, Dropout) and name.startswith(at)]
    hooks = [each.register_forward_hook(lambda _, inputs, __: noise(inputs[0])) for each in dropouts]
    probs: list[Tensor] = []
    measures: list[Tensor] = []  # loss and cosine of each pass
    for batch in batches:
        real, total = batch.target_out != CONFIG.pad_id, torch.zeros(())
        for _ in range(PASSES):
            states = model.decode(batch.target_in, model.encode(batch.source), model.source_mask(batch.source))[real]
            logits = model.project(states)
            total = total + logits.softmax(-1)
            unit = F.normalize(states, dim=-1)
            measures.append(torch.stack([F.cross_entropy(logits, batch.target_out[real]), (unit @ unit.T).mean()]))
        probs.append(total / PASSES)
    for hook in hooks:
        hook.remove()
    loss, cosine = torch.stack(measures).mean(0).tolist()
    return torch.cat(probs), loss, cosine


def collapsed(shards: TokenShards, batches: list[Batch], rate_scale: float, seed: int) -> Transformer:
    """A model trained until the loss of `batches` is worse by `GAP` without dropout; prints both losses."""
    torch.manual_seed(seed)
    model = Transformer(CONFIG)
    loss_of = TranslationLoss(model, label_smoothing=0.1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9, fused=True)
    groups = Batches(shards, BATCH_TOKENS, seed, MAX_LENGTH, "target").groups(Position())
    for step in range(1, MAX_STEPS + 1):
        [batch] = next(groups).batches
        for group in optimizer.param_groups:
            group["lr"] = rate_scale * learning_rate(step, CONFIG.d_model, warmup=100)
        loss_of.train()
        (loss_of(batch).smoothed / batch.num_tokens).backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 25 == 0:
            on, off = (predictions(model, batches, NOISES[name])[1] for name in ("dropout", "none"))
            print(f"step {step}: {on:.2f} with dropout, {off:.2f} without", flush=True)
            if off > on + GAP:
                return model
    raise SystemExit(f"not collapsed after {MAX_STEPS} steps: try a higher --rate-scale")


def main() -> None:
    """Train, then print one line for each kind of noise."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of `train prepare`, with 1,000 pieces")
    parser.add_argument("--rate-scale", type=float, default=1.6, help="1.6: up to 2e-2 (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of parameters, noise and batches (default: %(default)s)")
    arguments = parser.parse_args()
    shards = TokenShards(arguments.data / "train")
    batches = [shards.batch(indices) for indices in Batches(shards, BATCH_TOKENS, 0, MAX_LENGTH).epoch(0)[:3]]
    model = collapsed(shards, batches, arguments.rate_scale, arguments.seed)
    position = torch.cat([(batch.target_out != CONFIG.pad_id).nonzero()[:, 1] for batch in batches])
    for name, noise in NOISES.items():
        probs, loss, cosine = predictions(model, batches, noise)
        ends = probs[position == 0, CONFIG.eos_id].mean()
        print(f"{loss:.2f}, cosine of states {cosine:.3f}, first token </s> {ends:.4f}: noise {name}")
    for at in ("encoder", "decoder"):
        print(f"{predictions(model, batches, NOISES['dropout'], at)[1]:.2f}: noise dropout, in the {at} only")
    on, off = (predictions(model, batches, NOISES[name])[0] for name in ("dropout", "none"))
    for name, places in (("first position", position == 0), ("later positions", position > 0)):
        divergence = (off * (off / on[places].mean(0)).log()).sum(-1).mean()
        print(f"{divergence:.3f}: divergence of predictions without dropout from the mean one with it at {name}")
    model.target_mask = lambda target_ids: torch.eye(target_ids.size(1), dtype=torch.bool)
    _, loss, _ = predictions(model, batches, NOISES["dropout"])
    print(f"{loss:.2f}: noise dropout, each target position attends to itself only")


if __name__ == "__main__":
    main()
