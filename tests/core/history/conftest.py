"""Packed histories for the tests of histories."""

from pathlib import Path

import pytest

from core.history import pack_history


@pytest.fixture(scope="session")
def packed_folder(tmp_path_factory: pytest.TempPathFactory, run_history: Path) -> Path:
    """The snapshots of `run_history` in a folder. Do not modify it: copy it."""
    path = tmp_path_factory.mktemp("packed") / "tiny.history"
    pack_history(run_history, path)
    return path


@pytest.fixture(scope="session")
def narrow_file(tmp_path_factory: pytest.TempPathFactory, run_history: Path) -> Path:
    """The snapshots of `run_history` in 8 bits. Do not modify it."""
    path = tmp_path_factory.mktemp("packed") / "narrow.zip"
    pack_history(run_history, path, eight_bits=True)
    return path
