"""Short translations for the tests of formats, and folders that they may modify."""

import shutil
from pathlib import Path

import pytest

from tests.core.formats.marian_models import Pairs

EXTRA_TOKENS = 8  # of a translation, beyond the length of its source


@pytest.fixture(autouse=True)
def _short_translations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models with random weights do not end their sentences."""
    monkeypatch.setattr("core.decoding.limits.MAX_EXTRA_TOKENS", EXTRA_TOKENS)


@pytest.fixture(scope="module")
def original(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, parallel_text: Pairs) -> Path:
    """A small model with random weights, by the function `write` of the tests' module. Do not modify it: copy it."""
    folder = tmp_path_factory.mktemp("original") / "model"
    request.module.write(folder, parallel_text)
    return folder


@pytest.fixture
def copy(original: Path, tmp_path: Path) -> Path:
    """A copy of `original`, which a test may modify."""
    return Path(shutil.copytree(original, tmp_path / "model"))
