"""A translator for the figures of steps."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.translator import Translator


@pytest.fixture(scope="session")
def stepped(tiny_checkpoint: Path) -> Iterator[Translator]:
    """The tiny model, whose translations end soon."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("core.translator.MAX_EXTRA_TOKENS", 4)
        yield Translator.from_checkpoint(tiny_checkpoint)
