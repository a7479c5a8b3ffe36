"""Fixtures for the tests of training: a prepared folder, and a function that runs `fit` on it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from core.model import Transformer
from core.preset_configs import PRESETS
from train.data.parallel_text import ParallelText
from train.data.preparation import prepare
from train.loop import fit
from train.recipe import Recipe, recipe_for

Fit = Callable[..., Transformer]


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory, parallel_text: list[tuple[str, str]]) -> Path:
    """Output of `prepare` for the shared sentences: 16 for training, 4 for validation. Do not modify it."""
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


@pytest.fixture(autouse=True)
def _short_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit the length of translations: untrained models never end a sentence."""
    monkeypatch.setattr("core.text_codec.MAX_EXTRA_TOKENS", 4)


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
        return fit("tiny", config, recipe, data, folder, torch.device("cpu"), init)

    return run


@pytest.fixture(scope="session")
def six_steps(run_fit: Fit, tmp_path_factory: pytest.TempPathFactory) -> Transformer:
    """The model after an uninterrupted `run_fit` of six steps. Do not modify it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("core.text_codec.MAX_EXTRA_TOKENS", 4)
        return run_fit(tmp_path_factory.mktemp("six-steps"))


@pytest.fixture(scope="session")
def three_steps(run_fit: Fit, tmp_path_factory: pytest.TempPathFactory) -> Transformer:
    """The model after three steps, half of `six_steps`. Do not modify it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("core.text_codec.MAX_EXTRA_TOKENS", 4)
        return run_fit(tmp_path_factory.mktemp("three-steps"), steps=3)


@pytest.fixture
def recipe() -> Recipe:
    """The recipe of the preset `tiny`."""
    return recipe_for("tiny")
