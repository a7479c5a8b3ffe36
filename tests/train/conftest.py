"""What the tests of training share: a prepared folder, and a way to run `fit` on it."""

import multiprocessing
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

import pytest
import torch

from core.config import PRESETS
from core.model import Transformer
from train.data.parallel_text import ParallelText
from train.data.preparation import prepare
from train.loop import fit
from train.recipe import Recipe, recipe_for

Fit = Callable[..., Transformer]


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory, parallel_text: list[tuple[str, str]]) -> Path:
    """The shared sentences as `prepare` leaves them, 16 to train on and 4 to validate. Do not change it."""
    folder = tmp_path_factory.mktemp("prepared")
    for name, pairs in (("train", parallel_text[:16] * 3), ("valid", parallel_text[16:])):
        for side, sentences in zip(("source", "target"), zip(*pairs, strict=True), strict=True):
            (folder / f"{name}.{side}").write_text("".join(f"{sentence}\n" for sentence in sentences), encoding="utf-8")
    data = folder / "data"
    train, valid = (
        ParallelText([folder / f"{name}.source"], [folder / f"{name}.target"]) for name in ("train", "valid")
    )
    prepare(data, train, valid, vocab_size=400)
    return data


@pytest.fixture
def run_fit(prepared: Path) -> Fit:
    """`run_fit(folder, steps=..., ...)`: train a tiny model for a few steps, with other fields of the recipe if given.

    In bfloat16, so that no run depends on the speed of the machine.
    """

    def run(
        folder: Path, data: Path = prepared, init: Path | None = None, d_ff: int = PRESETS["tiny"].d_ff, **changes: Any
    ) -> Transformer:
        config = replace(PRESETS["tiny"], vocab_size=400, num_encoder_layers=1, num_decoder_layers=1, d_ff=d_ff)
        few = {"steps": 6, "snapshot_every": 3, "batch_tokens": 200, "max_length": 60, "precision": "bfloat16"}
        recipe = replace(recipe_for("tiny"), **{**few, **changes})
        return fit("tiny", config, recipe, data, folder, torch.device("cpu"), init)

    return run


@pytest.fixture
def recipe() -> Recipe:
    """The recipe of the tiny preset."""
    return recipe_for("tiny")


@pytest.fixture(scope="session")
def processes() -> ForkServerContext:
    """Starts processes, to be killed, that need not read PyTorch first: one process has, and the others are forked
    from it.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["train.__main__", "torch.distributed.launcher.api"])
    return context
