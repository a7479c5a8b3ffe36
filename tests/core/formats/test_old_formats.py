"""Checkpoints of every format version are read for ever: a file of each, as it was written then.

The weights of `format-1.safetensors` are `weights(shape)` of each parameter.
"""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from core import Translator
from core.formats.checkpoint import FORMAT_VERSION, load_checkpoint
from core.model.config import TransformerConfig

FOLDER = Path(__file__).parent / "old_formats"


def weights(shape: torch.Size) -> Tensor:
    """Sines of the integers from 0, in this shape."""
    return torch.arange(shape.numel(), dtype=torch.float64).sin().float().reshape(shape)


def test_there_is_a_file_of_every_version() -> None:
    assert [path.name for path in sorted(FOLDER.iterdir())] == [
        f"format-{version}.safetensors" for version in range(1, FORMAT_VERSION + 1)
    ]


@pytest.mark.parametrize("version", range(1, FORMAT_VERSION + 1))
def test_it_is_read_as_it_was_written(version: int) -> None:
    checkpoint = load_checkpoint(FOLDER / f"format-{version}.safetensors")
    assert checkpoint.config == TransformerConfig(
        vocab_size=340, d_model=16, d_ff=32, num_heads=2, num_encoder_layers=1, num_decoder_layers=1, dropout=0.1
    )
    for name, parameter in checkpoint.model.named_parameters():
        torch.testing.assert_close(parameter, weights(parameter.shape), msg=name)
    assert checkpoint.training == {"preset": "tiny", "steps": 7, "commit": "0123abc"}
    assert checkpoint.tokenizer.decode(checkpoint.tokenizer.encode("Ein Hund läuft. 🐕")) == "Ein Hund läuft. 🐕"
    assert Translator(checkpoint.model, checkpoint.tokenizer).explain("A dog.", "Ein Hund.").maps["cross"]
