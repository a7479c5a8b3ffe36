"""Validation, snapshots and the state to resume from, written in an order that is safe to interrupt.

First comes the log line: a resumed run drops the lines after its state. Then the snapshot: a resumed run writes it
again with the same parameters. The state comes last, and completes the step.
"""

import math
import resource
import sys
import time
from typing import Any

import numpy as np
import torch

from core.files.console import command_line
from core.files.process_memory import return_freed_memory
from core.formats.checkpoint import save_checkpoint
from core.images.line_reader import LineReader
from core.images.patches import from_patches
from core.translator import Translator
from train.data.batches import Batches
from train.data.prepared_corpus import Corpus
from train.data.token_shards import TokenShards
from train.distributed import World
from train.loss import MaskedLoss, TranslationLoss, loss_module
from train.recipe import Recipe
from train.runs.log_writer import Log
from train.runs.provenance import now
from train.runs.run_folder import RunFolder
from train.runs.symptoms import dropout_warning
from train.runs.training_state import Training
from train.snapshot_checksum import with_checksum

MOST_NATS = 700  # of a token, whose perplexity is still finite


class Saver:
    """Validates and saves a training run; every method is collective, so all processes must call it."""

    def __init__(
        self, run: RunFolder, world: World, corpus: Corpus, recipe: Recipe, facts: dict[str, Any], log: Log
    ) -> None:
        self._run, self._world, self._corpus = run, world, corpus
        self._recipe, self._facts, self._log = recipe, facts, log
        self._saved_at, self.last_step = time.monotonic(), 0

    def next_step(self) -> str:
        """Say where the last snapshot is, and what to do with it."""
        if not (snapshots := self._run.snapshots()):
            return "There is no snapshot yet."
        mean = command_line("python", "-m", "train", "average", self._run.path, "--last", "5", "-o", "FILE.safetensors")
        trial = command_line("python", "-m", "core", "translate", "--checkpoint", snapshots[-1], "--text", "TEXT")
        return f"The last snapshot is {snapshots[-1]}: try it with `{trial}`, or take the mean of the last: `{mean}`"

    def is_due(self) -> bool:
        """Whether `snapshot_minutes` have passed since the last snapshot."""
        minutes = self._recipe.snapshot_minutes
        return bool(minutes) and self._world.any((time.monotonic() - self._saved_at) / 60 >= minutes)

    def validate(self, training: Training) -> None:
        """Validate, log sample translations, and save a snapshot."""
        training.window.check(training.step)
        loss_of = loss_module(training.model, 0.0)
        numbers = validate(loss_of, self._corpus.valid, self._recipe, self._world)
        self._log.write("valid", training.step, **numbers)
        if self._world.is_first:
            with autocast(self._recipe, self._world.device):
                warning = dropout_warning(loss_of, self._corpus.train, self._recipe.max_length)
            self._log.warn(training.step, warning)
            self._show_samples(training)
        training.model.train()
        self.snapshot(training, is_best=training.record_validation(numbers["nll"]))
        return_freed_memory()  # sizes of tensors differ here, so that the heap fragments and would grow without bound
        self._log.pace()  # leaves the time taken here out of the training pace

    def snapshot(self, training: Training, is_best: bool = False) -> None:
        """Save a checkpoint and the state to resume from."""
        training.window.check(training.step)
        if self._world.is_first:
            path = self._run.snapshot(training.step)
            with self._run.saving(f"the snapshot of step {training.step}"):
                with with_checksum(path):
                    save_checkpoint(path, training.model, self._corpus.tokenizer, self._facts_at(training))
                if is_best:
                    self._run.keep_as_best(path)
            self._run.drop_old_snapshots(self._recipe.keep_snapshots)
        self.state(training)
        self._saved_at, self.last_step = time.monotonic(), training.step

    def history(self, training: Training) -> None:
        """Save a checkpoint in half precision that is never dropped."""
        training.window.check(training.step)
        if self._world.is_first:
            path, facts = self._run.history(training.step), {**self._facts_at(training), "stored_as": "float16"}
            with self._run.saving(f"the snapshot of step {training.step} for the history"):
                path.parent.mkdir(exist_ok=True)
                with with_checksum(path):
                    save_checkpoint(path, training.model, self._corpus.tokenizer, facts, torch.float16)

    def _facts_at(self, training: Training) -> dict[str, Any]:
        return {
            **self._facts,
            "steps": training.step,
            "hours": round(training.hours, 2),
            "memory_gb": round(peak_memory(self._world.device) / 1e9, 2),
            "date": now(),
        }

    def state(self, training: Training) -> None:
        """Save the state to resume from."""
        training.window.check(training.step)
        state = training.state()
        if self._world.is_first:
            with self._run.saving(f"the state of step {training.step}"):
                self._run.save_state(state)
        self._world.wait()

    def _show_samples(self, training: Training) -> None:
        translator, samples = Translator(training.model, self._corpus.tokenizer), self._corpus.samples
        if training.model.config.patch_size:
            reader = LineReader(translator)
            pictures = [self._corpus.valid.side(0, np.array([number]))[0] for number in samples]
            images = [from_patches(patches, reader.patch_size, reader.rows) for patches in pictures]
            texts = [line.text for line in reader.read_batch(images, beam_size=1)]
        else:
            sources = [source for source, _ in samples.values()]
            texts = [translation.text for translation in translator.translate_batch(sources, beam_size=1)]
        for (source, reference), text in zip(samples.values(), texts, strict=True):
            self._log.sample(training.step, source, reference, text)


@torch.no_grad()
def validate(
    loss_of: TranslationLoss | MaskedLoss, shards: TokenShards, recipe: Recipe, world: World
) -> dict[str, float]:
    """Return the unsmoothed negative log-likelihood per target token (nats) and its exponential, perplexity (6.2).

    Raises:
        FloatingPointError: there is no such number, as the training has diverged.
    """
    loss_of.eval()
    sums = torch.zeros(2, dtype=torch.float64)
    plan = Batches(shards, recipe.batch_tokens, seed=0, max_length=recipe.max_length).epoch(0)
    for indices in plan[world.rank :: world.size]:
        batch = shards.batch(indices).to(world.device)
        with autocast(recipe, world.device):
            nll = loss_of(batch).nll
        sums += torch.tensor([float(nll), batch.num_tokens], dtype=torch.float64)
    total, num_tokens = world.sum(sums).tolist()
    if not (nll := total / num_tokens) < MOST_NATS:  # not a number, too
        raise FloatingPointError(
            f"the validation loss is {nll:g} nats a token, expected less than {MOST_NATS}: the training has diverged; "
            f"start again with a lower --rate-scale or a --clip-norm"
        )
    return {"nll": nll, "perplexity": math.exp(nll)}


def autocast(recipe: Recipe, device: torch.device) -> torch.autocast:
    """Return the autocast context for the recipe's precision.

    Raises:
        ValueError: the precision is still `auto`; see `train.precision`.
    """
    if recipe.precision == "auto":
        raise ValueError("precision 'auto' must be resolved before training; see train.precision.resolve_precision")
    return torch.autocast(device.type, torch.bfloat16, enabled=recipe.precision == "bfloat16")


def peak_memory(device: torch.device) -> int:
    """Return the peak memory of this process in bytes: allocated by PyTorch on CUDA, resident elsewhere."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
