"""Inputs for the tests of the model."""

import pytest
import torch
from torch import Tensor

from core.model import PAD_PIXEL
from tests.core.tiny_models import BOS, PAD, TINY


@pytest.fixture(scope="session")
def ids() -> tuple[Tensor, Tensor]:
    """Three sentences of lengths 9, 6, 2 and their translations of 7, 3, 5 tokens."""
    generator = torch.Generator().manual_seed(0)
    source = torch.randint(3, TINY.vocab_size, (3, 9), generator=generator)
    target = torch.randint(3, TINY.vocab_size, (3, 7), generator=generator)
    for row, (source_length, target_length) in enumerate(((9, 7), (6, 3), (2, 5))):
        source[row, source_length:] = PAD
        target[row, target_length:] = PAD
    target[:, 0] = BOS
    return source, target


@pytest.fixture(scope="session")
def patches() -> Tensor:
    """Three images of 9, 6 and 2 patches of 4 x 4 pixels."""
    generator = torch.Generator().manual_seed(0)
    images = torch.rand(3, 9, 16, generator=generator)
    for row, length in enumerate((9, 6, 2)):
        images[row, length:] = PAD_PIXEL
    return images


@pytest.fixture
def short_translations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few tokens beyond the length of the source: a model that has learned nothing never ends a sentence."""
    monkeypatch.setattr("core.decoding.limits.MAX_EXTRA_TOKENS", 4)
