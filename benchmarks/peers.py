"""Conversion of a Headlight model to Hugging Face and CTranslate2, with the same weights and the same function."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from core.formats import ctranslate2_folder
from core.formats.marian_folder import marian_settings, marian_tensors
from core.model import Transformer
from core.model.config import TransformerConfig


def marian(model: Transformer) -> Any:
    """Convert a model to Hugging Face's `MarianMTModel`, in evaluation mode.

    Raises:
        ValueError: the other library does not support its architecture.
    """
    settings = marian_settings(model.config)
    from transformers import MarianConfig, MarianMTModel

    converted: Any = MarianMTModel(MarianConfig(**settings))
    converted.load_state_dict(marian_tensors(model), strict=False)  # without the copies of tied matrices
    return converted.eval().requires_grad_(False)


def save_ctranslate2(model: Transformer, folder: Path) -> None:
    """Write a model in CTranslate2's format, with the tokens of `ctranslate2_tokens`.

    Raises:
        ValueError: the other library does not support its architecture.
    """
    tokens = ctranslate2_tokens(range(model.config.vocab_size), model.config)
    ctranslate2_folder.save_ctranslate2(model, tokens, tokens, folder)


def ctranslate2_tokens(token_ids: Sequence[int], config: TransformerConfig) -> list[str]:
    """Name tokens by their ids; padding becomes the unknown token, which CTranslate2 can disable."""
    special = {config.bos_id: "<s>", config.eos_id: "</s>", config.pad_id: "<unk>"}
    return [special.get(token_id, str(token_id)) for token_id in token_ids]
