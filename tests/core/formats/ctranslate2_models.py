"""Models of CTranslate2 with random weights, and a published one."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from core.formats.checkpoint import Checkpoint
from core.formats.ctranslate2_folder import transformer_specification
from core.model import Transformer
from core.model.preset_configs import PRESETS
from core.text.tokenizer import SentencePieceTokenizer

PUBLISHED = Path(__file__).parent / "ctranslate2_transliteration"


def random_checkpoint(tokenizer: SentencePieceTokenizer, **changes: Any) -> Checkpoint:
    """A model with random weights, norms and biases included."""
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = Transformer(replace(PRESETS["tiny"], vocab_size=tokenizer.vocab_size, **changes)).eval()
        model.requires_grad_(False)
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return Checkpoint(model, tokenizer)


def write_ctranslate2_files(checkpoint: Checkpoint, folder: Path, quantization: str | None = None, **config: Any):
    """Write a folder in a type of CTranslate2, with both SentencePiece models and fields `config` of config.json."""
    folder.mkdir()
    tokenizer = checkpoint.tokenizer
    pieces = [tokenizer.piece(token_id) for token_id in range(tokenizer.vocab_size)]
    specification = transformer_specification(checkpoint.model, pieces, pieces)
    specification.validate()
    specification.optimize(quantization=quantization)
    specification.save(str(folder))
    for name in ("source.spm", "target.spm"):
        (folder / name).write_bytes(tokenizer.to_bytes())
    settings = json.loads((folder / "config.json").read_text()) | config
    (folder / "config.json").write_text(json.dumps(settings))


def write_ctranslate2(folder: Path, tokenizer: SentencePieceTokenizer) -> None:
    """Write a small model in half precision."""
    write_ctranslate2_files(random_checkpoint(tokenizer), folder, "float16")
