"""A process of a distributed run, and the agent of torchrun that starts several."""

import os
from dataclasses import replace
from pathlib import Path

import torch
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

import train.loop
from core.model.preset_configs import PRESETS
from train.recipe import recipe_for

STEPS, SNAPSHOT_EVERY, LOG_EVERY = 18, 6, 3


def work(data: Path, folder: Path, accumulate: int) -> None:
    """Train, and write the id of this process into the run's folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"pid-{os.environ.get('RANK', 'alone')}").write_text(str(os.getpid()))
    train.loop.LOG_EVERY = LOG_EVERY
    config = replace(PRESETS["tiny"], vocab_size=400, num_encoder_layers=1, num_decoder_layers=1)
    recipe = replace(
        recipe_for("tiny"),
        rate_scale=0.4,
        steps=STEPS,
        snapshot_every=SNAPSHOT_EVERY,
        batch_tokens=200,
        max_length=60,
        precision="float32",
        accumulate=accumulate,
    )
    train.loop.fit("tiny", config, recipe, data, folder, torch.device("cpu"))


def launch(processes: int, data: Path, folder: Path) -> None:
    """Start processes as `torchrun --standalone` does, but forked; each step takes two batches in total."""
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=processes,
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        run_id=folder.name,
        max_restarts=2,
        monitor_interval=0.1,
        start_method="fork",
    )
    elastic_launch(config, work)(data, folder, 2 // processes)
