"""A translator for the figures of steps."""

from pathlib import Path

import pytest

from core.translator import Translator


@pytest.fixture(scope="session")
def stepped(tiny_checkpoint: Path) -> Translator:
    """A translator of the tiny model."""
    return Translator.from_checkpoint(tiny_checkpoint)
