"""The training loop (5)."""

import signal
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from core.files.console import StoppedError
from core.files.file_writing import write_text
from core.files.strict_json import json_text
from core.inference.device import supports_bfloat16
from core.model import Transformer
from core.model.config import TransformerConfig
from core.model.schedule import WARMUP_SHARE
from train import distributed
from train.data.batches import Batches, Group, Prefetched
from train.data.prepared_corpus import Corpus
from train.data.token_shards import DataError
from train.distributed import World
from train.precision import measure_precisions, resolve_precision
from train.recipe import Recipe
from train.runs.checkpointing import Saver, autocast
from train.runs.log_writer import Log, NotFiniteError
from train.runs.provenance import hardware
from train.runs.run_folder import RunFolder
from train.runs.run_record import RunSettings
from train.runs.stop_signals import StopRequest
from train.runs.symptoms import FrequencyWatch
from train.runs.training_state import Training
from train.warm_start import Initial

LOG_EVERY = 25


def fit(
    preset: str,
    config: TransformerConfig,
    recipe: Recipe,
    data: Path,
    folder: Path,
    device: torch.device,
    init: Path | None = None,
    compiled: bool = False,
) -> Transformer:
    """Train up to `recipe.steps`, resuming the run in `folder` (see `train.runs.run_folder`) if there is one.

    On a CPU, a run that was killed and resumed ends with the same bits as an uninterrupted one. Parameters are random,
    or those of the checkpoint `init`. Computation on packed batches may be compiled; see `train.packed`.

    Raises:
        DataError: the data cannot be used.
        CheckpointError: `init` cannot be read.
        ValueError: the folder holds a run with other settings, or `init` has another shape or vocabulary.
        RunFolderError: another process trains in the folder, or it cannot be written.
        FloatingPointError: the loss is not finite; its batches are written into the folder.
        StoppedError: on SIGINT or SIGTERM, after a snapshot.
    """
    if config.positions == "learned" and recipe.max_length > config.max_positions:
        raise ValueError(
            f"max_length ({recipe.max_length}) must be at most the number of learned positions ({config.max_positions})"
        )
    with ExitStack() as stack:
        world = stack.enter_context(distributed.join(device))
        run, corpus = RunFolder(folder), Corpus.open(data, config)
        if recipe.keep and corpus.manifest.get("synthetic_pairs"):  # of an older version
            raise DataError(f"{data} does not say which pairs were made by rule, for --keep: prepare it again")
        by_rule = corpus.manifest.get("by_rule", [])
        batches = Batches(corpus.train, recipe.batch_tokens, recipe.seed, recipe.max_length, recipe.bucketing, by_rule)
        _check_precision(recipe, world.device)
        initial = Initial.read(init, config, corpus.tokenizer) if init else None
        compiling = compiled and world.device.type == "cuda"
        training = Training(config, recipe, world, compiling, initial, corpus.tokenizer.byte_ids)
        recipe, facts, note = stack.enter_context(
            _open_run(run, world, preset, training.model, recipe, data, corpus, initial)
        )
        with run.resuming():
            training.restore(run.load_state())
        groups = batches.groups(training.position, recipe.accumulate, world.rank, world.size)
        log = stack.enter_context(Log(run, world, training.step, recipe))
        log.print(_summary(training, batches, recipe, world))
        for line in filter(None, (note, corpus.note(), initial and initial.note(config.vocab_size))):
            log.print(line)
        if compiled and not compiling:
            log.print(f"--compile needs a GPU: on {world.device} nothing is compiled")
        stack.enter_context(_nonfinite_batches_saved(run, batches, corpus, recipe, world))
        stream, stop = stack.enter_context(Prefetched(groups, world.device)), stack.enter_context(StopRequest())
        save, watch = Saver(run, world, corpus, recipe, facts, log), FrequencyWatch(corpus.train, recipe.warmup)
        _train(training, stream, recipe, world, save, log, watch, stop)
        log.print(save.next_step())
        return training.model.eval()


def _train(
    training: Training,
    stream: Iterator[Group],
    recipe: Recipe,
    world: World,
    save: Saver,
    log: Log,
    watch: FrequencyWatch,
    stop: StopRequest,
) -> None:
    model, loss_of, optimizer = training.model, training.loss_of, training.optimizer
    history = recipe.history_steps()
    if training.step == 0 and history:
        save.history(training)
    # every run takes at least one step, so that it leaves a snapshot
    is_time_up = training.step > 0 and training.is_time_up(recipe)
    for step in range(training.step + 1, recipe.steps + 1):
        if is_time_up:
            log.print(f"stopped: the budget of {recipe.minutes:g} minutes is used up")
            break
        if recipe.patience and training.validations_since_best >= recipe.patience:
            log.print(f"stopped early: {recipe.patience} validations without a loss below {training.best_nll:.4f}")
            break
        group = next(stream)
        smoothed = nll = torch.zeros((), device=world.device)
        for number, batch in zip(group.numbers, group.batches, strict=True):
            _seed_dropout(recipe.seed, step, number)
            with world.no_sync(loss_of, last=batch is group.batches[-1]), autocast(recipe, world.device):
                loss = loss_of(batch)
            (loss.smoothed * world.size / group.num_tokens).backward()  # gradients are averaged over processes
            smoothed, nll = smoothed + loss.smoothed.detach(), nll + loss.nll
        training.drop_fixed_gradients()
        if recipe.clip_norm:
            nn.utils.clip_grad_norm_(model.parameters(), recipe.clip_norm)
        rate = training.set_rate(training.rate(step, recipe))
        optimizer.step()
        optimizer.zero_grad()

        training.advance(step, group, smoothed, nll)
        log.step(group.num_tokens)
        if step % LOG_EVERY == 0 or (world.size == 1 and log.is_due()):
            losses = training.window.close(step)
            log.write("train", step, **losses, rate=rate, **log.pace(), epoch=group.end.epoch, hours=training.hours)
            log.warn(step, watch.after(step, losses["nll"]))
        if step in history:
            save.history(training)
        is_time_up = training.is_time_up(recipe)
        if step % recipe.snapshot_every == 0 or step == recipe.steps or is_time_up:
            save.validate(training)
        elif save.is_due():
            save.snapshot(training)
        if world.any(stop.signal_number is not None):
            if save.last_step != step:
                save.snapshot(training)
            message = f"stopped after step {step} of {recipe.steps}: run the same command to resume. {save.next_step()}"
            raise StoppedError(message, stop.signal_number or signal.SIGTERM)


def _check_precision(recipe: Recipe, device: torch.device) -> None:
    if recipe.bucketing == "packed" and device.type == "cuda" and recipe.precision == "float32":
        raise ValueError(
            "--bucketing packed computes in bfloat16 on a GPU: give --precision bfloat16, or another --bucketing"
        )


def _seed_dropout(seed: int, step: int, number: int) -> None:
    """Seed dropout by the batch's place in the run, so that neither the number of processes nor restarts matter."""
    torch.manual_seed(int(np.random.SeedSequence((seed, step, number)).generate_state(1, np.uint64)[0]))


@contextmanager
def _open_run(
    run: RunFolder,
    world: World,
    preset: str,
    model: Transformer,
    recipe: Recipe,
    data: Path,
    corpus: Corpus,
    initial: Initial | None,
) -> Generator[tuple[Recipe, dict[str, Any], str]]:
    """Lock the run's folder and record the run's settings, or check them against the recorded ones (rank 0).

    Yields:
        The recipe with its precision resolved, the run's facts, and a message on the precision.
    """
    with run.locked() if world.is_first else nullcontext():
        facts: dict[str, Any] = {}
        note = ""
        if world.is_first:
            state = run.load_state()
            step = state["step"] if state else 0
            times = measure_precisions(model, recipe.batch_tokens) if recipe.precision == "auto" else None
            recipe, note = resolve_precision(recipe, run.record.recipe().get("precision"), times)
            if recipe.precision == "bfloat16" and not supports_bfloat16(model.device):
                raise ValueError(
                    f"{model.device} cannot compute in bfloat16 here: start a run with --precision float32"
                )
            settings = RunSettings(
                preset, model.config, recipe, data, corpus.manifest, init=initial.facts if initial else None
            )
            with run.saving("the recipe"):
                facts = run.record.start(settings, hardware(world), step, times and times.facts())
                run.truncate_log(step)
        yield world.gather(recipe)[0], facts, note


def _summary(training: Training, batches: Batches, recipe: Recipe, world: World) -> str:
    """Describe the run: parameters, data, padding, steps and epochs."""
    parameters = sum(parameter.numel() for parameter in training.model.parameters())
    plan, left_out = batches.epoch(0), len(batches.lengths) - len(batches.usable)
    epochs = recipe.steps * recipe.accumulate * world.size / len(plan)
    return (
        f"{parameters:,} parameters; {len(batches.usable):,} pairs in {len(plan):,} batches, "
        f"{100 * batches.padding(plan):.1f} % of them padding; "
        f"{left_out:,} pairs left out: more than {recipe.max_length} tokens\n"
        f"steps {training.step} to {recipe.steps}, {epochs:.1f} epochs in total, on {world.size} x {world.device}, "
        f"{recipe.precision}{_fitted_to_time(recipe)}"
    )


def _fitted_to_time(recipe: Recipe) -> str:
    """Say what a budget of minutes makes of the recipe; "" without one."""
    if not recipe.minutes:
        return ""
    return (
        f"\nat most {recipe.minutes:g} minutes: batches of at most {recipe.batch_tokens:,} tokens; the learning rate "
        f"rises for {recipe.warmup:,} steps or {WARMUP_SHARE * recipe.minutes:.3g} minutes, what ends first, to a peak "
        f"that is the lower the shorter this is, {'stays' if recipe.schedule == 'constant' else 'falls'}, and falls to "
        f"0 in the last {recipe.cooldown_minutes:.3g} minutes"
    )


@contextmanager
def _nonfinite_batches_saved(
    run: RunFolder, batches: Batches, corpus: Corpus, recipe: Recipe, world: World
) -> Generator[None]:
    """Save the batches of a step with a non-finite loss in the run's folder, and name the file in the error."""
    try:
        yield
    except NotFiniteError as error:
        path = run.path / f"not-finite-step-{error.step:08d}.jsonl"
        if world.is_first:
            decode = corpus.tokenizer.decode
            pairs = (
                corpus.train.pair(index) for index in batches.indices(error.position, recipe.accumulate * world.size)
            )
            lines = [
                json_text({"source": decode(source), "target": decode(target)}, ensure_ascii=False)
                for source, target in pairs
            ]
            write_text(path, "".join(f"{line}\n" for line in lines))
        advice = (
            f"its sentence pairs are in {path}, and the last saved state is intact: start again with a lower "
            f"--rate-scale or a --clip-norm"
        )
        raise FloatingPointError(f"{error}; {advice}") from error
