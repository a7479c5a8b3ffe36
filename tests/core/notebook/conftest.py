"""A translator of the tiny model."""

from pathlib import Path

import pytest

from core import Translator


@pytest.fixture(scope="session")
def translator(tiny_checkpoint: Path) -> Translator:
    return Translator.from_checkpoint(tiny_checkpoint)
