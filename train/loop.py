"""The training loop (5): one function, on one screen."""

import contextlib
import ctypes
import json
import math
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from core.checkpoint import save_checkpoint
from core.config import TransformerConfig
from core.model import Transformer
from core.tokenizer import SentencePieceTokenizer
from train import run as runs
from train.data import Batches, Position, TokenShards
from train.log import Log
from train.loss import TranslationLoss
from train.recipe import Recipe
from train.run import RunFolder
from train.schedule import learning_rate

ADAM = {"betas": (0.9, 0.98), "eps": 1e-9}  # (5.3)
LOG_EVERY = 25


def fit(preset: str, config: TransformerConfig, recipe: Recipe, data: Path, folder: Path, device: torch.device) -> Transformer:
    """Train until `recipe.steps`, going on from `folder` if a run was begun there.

    On a CPU, a run that was killed and resumed ends with the same bits as one that was not.

    Args:
        preset: a name for the logs and the checkpoints' facts.
        data: what `prepare` made: tokenizer.model, train/ and valid/ shards.
        folder: the run's folder; see `train.run`.

    Raises:
        DataError: the data cannot be used.
        ValueError: the folder holds a run of another configuration, recipe or data.
        FloatingPointError: the loss is not finite.
    """
    run = RunFolder(folder)
    facts = _begin(run, preset, config, recipe, data, device)
    tokenizer = SentencePieceTokenizer.from_file(data / "tokenizer.model")
    torch.manual_seed(recipe.seed)
    model = Transformer(config).to(device).train()
    loss_of = TranslationLoss(model, recipe.label_smoothing)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.0, fused=True, **ADAM)
    state = run.load_state()
    done, position = (_restore(state, model, optimizer), Position(**state["position"])) if state else (0, Position())
    run.truncate_log(done)
    batches = Batches(TokenShards(data / "train"), recipe.batch_tokens, recipe.seed, recipe.max_length, position)
    stream = iter(batches)
    hours = state["hours"] if state else 0.0

    with Log(run, done, recipe.steps) as log:
        for step in range(done + 1, recipe.steps + 1):
            began = time.perf_counter()
            group = [next(stream).to(device) for _ in range(recipe.accumulate)]
            num_tokens = sum(batch.num_tokens for batch in group)
            smoothed = nll = torch.zeros((), device=device)
            for batch in group:
                with _autocast(recipe, device):
                    loss = loss_of(batch)
                (loss.smoothed / num_tokens).backward()
                smoothed, nll = smoothed + loss.smoothed.detach(), nll + loss.nll
            for parameters in optimizer.param_groups:
                parameters["lr"] = recipe.rate_scale * learning_rate(step, config.d_model, recipe.warmup)
            optimizer.step()
            optimizer.zero_grad()

            log.step(num_tokens)
            hours += (time.perf_counter() - began) / 3600
            if step % LOG_EVERY == 0:
                numbers = {"loss": float(smoothed) / num_tokens, "nll": float(nll) / num_tokens, "rate": optimizer.param_groups[0]["lr"]}
                if not math.isfinite(numbers["loss"]):
                    raise FloatingPointError(f"the loss of step {step} is {numbers['loss']}: lower the rate; {run.state} is from before")
                log.write("train", step, **numbers, tokens_per_second=log.speed(), epoch=batches.position.epoch, hours=hours)
            if step % recipe.snapshot_every == 0 or step == recipe.steps:
                log.write("valid", step, **validate(loss_of, data / "valid", recipe, device))
                save_checkpoint(run.snapshot(step), model, tokenizer, {**facts, "steps": step, "hours": round(hours, 2), "date": runs.now()})
                run.save_state(_state(step, batches.position, hours, model, optimizer))
                run.drop_old_snapshots(recipe.keep_snapshots)
    return model.eval()


@torch.no_grad()
def validate(loss_of: TranslationLoss, folder: Path, recipe: Recipe, device: torch.device) -> dict[str, float]:
    """Plain negative log-likelihood per target token in nats, and perplexity, its exponential (6.2)."""
    loss_of.eval()
    nll, num_tokens = 0.0, 0
    batches = Batches(TokenShards(folder), recipe.batch_tokens, seed=0, max_length=recipe.max_length)
    for indices in batches.epoch(0):
        batch = batches.shards.batch(indices).to(device)
        with _autocast(recipe, device):
            nll += float(loss_of(batch).nll)
        num_tokens += batch.num_tokens
    loss_of.train()
    return {"nll": nll / num_tokens, "perplexity": math.exp(nll / num_tokens)}


def keep_freed_memory() -> None:
    """Ask glibc to keep freed memory rather than give it back: the page faults of taking it anew cost a CPU run some 5 %."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            libc, m_mmap_max, m_trim_threshold = ctypes.CDLL(None), -4, -1
            libc.mallopt(m_mmap_max, 0)
            libc.mallopt(m_trim_threshold, 2**31 - 1)


def _autocast(recipe: Recipe, device: torch.device) -> torch.autocast:
    return torch.autocast(device.type, torch.bfloat16, enabled=recipe.precision == "bfloat16")


def _begin(run: RunFolder, preset: str, config: TransformerConfig, recipe: Recipe, data: Path, device: torch.device) -> dict[str, Any]:
    """Write down what the run is; where one was begun, make sure that it is the same one."""
    asked = {"preset": preset, "config": asdict(config), "recipe": asdict(recipe), "data": data.name}
    (run.path / "snapshots").mkdir(parents=True, exist_ok=True)
    if run.recipe.exists():
        begun = json.loads(run.recipe.read_text(encoding="utf-8"))
        differing = [name for name, value in asked.items() if begun[name] != value and name != "recipe"]
        # A longer run is the same run, and so is one that keeps or saves differently.
        free = ("steps", "snapshot_every", "keep_snapshots")
        differing += [name for name, value in asked["recipe"].items() if begun["recipe"].get(name) != value and name not in free]
        if differing:
            raise ValueError(f"{run.path} holds a run with another {', '.join(differing)}: resume it as it was begun, or give another folder")
        return {**begun, "recipe": asked["recipe"]}
    begun = {
        **asked,
        "command": " ".join(["python -m train", *sys.argv[1:]]),
        "commit": runs.commit(),
        "seed": recipe.seed,
        "hardware": _hardware(device),
        "torch": torch.__version__,
        "manifest": json.loads((data / "manifest.json").read_text(encoding="utf-8")),
    }
    run.recipe.write_text(json.dumps(begun, indent=2, ensure_ascii=False), encoding="utf-8")
    return begun


def _hardware(device: torch.device) -> str:
    if device.type == "cuda":
        return f"{torch.cuda.device_count()} x {torch.cuda.get_device_name(device)}"
    return f"CPU, {torch.get_num_threads()} threads"


def _state(step: int, position: Position, hours: float, model: Transformer, optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    return {
        "step": step,
        "position": asdict(position),
        "hours": hours,
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "random": torch.get_rng_state(),
        "random_cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }


def _restore(state: dict[str, Any], model: Transformer, optimizer: torch.optim.Optimizer) -> int:
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    torch.set_rng_state(state["random"])
    if torch.cuda.is_available():
        torch.cuda.set_rng_state_all(state["random_cuda"])
    return state["step"]
