"""Fixtures for the tests of training: a prepared folder, and a function that runs `fit` on it."""

import math
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from core.model import Transformer
from core.model.preset_configs import PRESETS
from train.data.parallel_text import ParallelText
from train.data.preparation import prepare
from train.data.preparation_settings import Preparation
from train.data.shard_writer import ShardWriter
from train.loop import fit
from train.recipe import Recipe, recipe_for

Fit = Callable[..., Transformer]


def contents(folder: Path) -> dict[Path, bytes]:
    """All files below a folder."""
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def parameters(model: Transformer) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def write_lines(path: Path, lines: Iterable[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def write_pairs(folder: Path, name: str, pairs: list[tuple[str, str]]) -> ParallelText:
    """Write the sides of some pairs into the files `NAME.en` and `NAME.de`."""
    source, target = zip(*pairs, strict=True)
    return ParallelText([write_lines(folder / f"{name}.en", source)], [write_lines(folder / f"{name}.de", target)])


def write_shards(folder: Path, pairs: list[tuple[list[int], list[int]]], vocab_size: int) -> None:
    """Write pairs of ids as token shards."""
    with ShardWriter(folder, vocab_size) as writer:
        writer.append([source for source, _ in pairs], [target for _, target in pairs])


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory, parallel_text: list[tuple[str, str]]) -> Path:
    """Output of `prepare`: 16 of the shared sentences for training, 4 short ones for validation. Do not modify it.

    The latter are the first word of each of the others: they are translated at every validation.
    """
    folder = tmp_path_factory.mktemp("prepared")
    short = [(source.split()[0], target.split()[0]) for source, target in parallel_text[16:]]
    train, valid = write_pairs(folder, "train", parallel_text[:16] * 3), write_pairs(folder, "valid", short)
    prepare(folder / "data", Preparation(train, valid, vocab_size=400))
    return folder / "data"


@contextmanager
def short_samples() -> Iterator[None]:
    """Limit the length of translations: untrained models never end a sentence."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("core.decoding.limits.MAX_EXTRA_TOKENS", 1)
        patch.setattr("train.runs.log_writer.SHOWN_EVERY", math.inf)  # a slow machine writes no more lines
        yield


@pytest.fixture(autouse=True)
def _short_samples() -> Iterator[None]:
    with short_samples():
        yield


@pytest.fixture(scope="session")
def run_fit(prepared: Path) -> Fit:
    """`run_fit(folder, steps=..., ...)`: train a tiny model for a few steps, with the given fields of the recipe.

    In bfloat16, so that the precision does not depend on the machine's speed.
    """

    def run(
        folder: Path,
        data: Path = prepared,
        init: Path | None = None,
        d_ff: int = PRESETS["tiny"].d_ff,
        mask_id: int | None = None,
        **changes: Any,
    ) -> Transformer:
        shape = {"vocab_size": 400, "num_encoder_layers": 1, "num_decoder_layers": 1, "d_ff": d_ff, "mask_id": mask_id}
        config = replace(PRESETS["tiny"], **shape)
        few = {"steps": 6, "snapshot_every": 3, "batch_tokens": 200, "max_length": 60, "precision": "bfloat16"}
        recipe = replace(recipe_for("tiny"), **{**few, **changes})
        with short_samples():  # fixtures for several tests call it, too
            return fit("tiny", config, recipe, data, folder, torch.device("cpu"), init)

    return run


@pytest.fixture(scope="session")
def three_steps_run(run_fit: Fit, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Transformer]:
    """The folder and the model of a `run_fit` of three steps. Do not modify them."""
    folder = tmp_path_factory.mktemp("three-steps")
    return folder, run_fit(folder, steps=3)


@pytest.fixture(scope="session")
def three_steps(three_steps_run: tuple[Path, Transformer]) -> Transformer:
    """The model after a `run_fit` of three steps. Do not modify it."""
    return three_steps_run[1]


@pytest.fixture
def begun(tmp_path: Path, three_steps_run: tuple[Path, Transformer]) -> Path:
    """A folder `run` with a `run_fit` of three steps, to resume."""
    return shutil.copytree(three_steps_run[0], tmp_path / "run")


@pytest.fixture(scope="session")
def six_steps(run_fit: Fit, tmp_path_factory: pytest.TempPathFactory) -> Transformer:
    """The model after an uninterrupted `run_fit` of six steps. Do not modify it."""
    return run_fit(tmp_path_factory.mktemp("six-steps"))


@pytest.fixture
def recipe() -> Recipe:
    return recipe_for("tiny")
