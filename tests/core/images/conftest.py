"""An untrained model that reads pictures."""

from dataclasses import replace

import pytest
import torch

from core.config import PRESETS
from core.images.line_reader import LineReader
from core.images.rendering import CHARACTERS
from core.model import Transformer
from core.tokenizer import SentencePieceTokenizer
from core.translator import Translator


@pytest.fixture(scope="session")
def line_reader() -> LineReader:
    """A reader with an untrained `tiny` model for lines of 24 pixels. Do not modify it."""
    tokenizer = SentencePieceTokenizer.of_characters(CHARACTERS)
    config = replace(PRESETS["tiny"], vocab_size=tokenizer.vocab_size, patch_size=8, patch_rows=3)
    with torch.random.fork_rng():
        torch.manual_seed(1)
        model = Transformer(config)
    return LineReader(Translator(model.eval().requires_grad_(False), tokenizer))
