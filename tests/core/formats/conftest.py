"""Short translations for the tests of formats, and folders that they may modify."""

import shutil
from pathlib import Path

import pytest

EXTRA_TOKENS = 8  # of a translation, beyond the length of its source


@pytest.fixture(autouse=True)
def _short_translations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models with random weights do not end their sentences."""
    monkeypatch.setattr("core.decoding.limits.MAX_EXTRA_TOKENS", EXTRA_TOKENS)


@pytest.fixture
def copy(original: Path, tmp_path: Path) -> Path:
    """A copy of the folder of a module's fixture `original`, which a test may modify."""
    return Path(shutil.copytree(original, tmp_path / "model"))
