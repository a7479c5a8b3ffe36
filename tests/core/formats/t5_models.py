"""T5 models of transformers with random or briefly trained weights, saved as people share them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from tests.core.formats.marian_models import sentencepiece_model
from tests.core.formats.small_models import learn
from tests.core.structured_models import Model
from tests.lazy_imports import transformers

Pairs = Sequence[tuple[str, str]]
V1_1 = {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}
PREFIX = "translate English to German: "
TASKS = {
    "summarization": {"prefix": "summarize: ", "num_beams": 4},
    "translation_en_to_de": {"prefix": PREFIX, "num_beams": 4, "early_stopping": True},
    "translation_en_to_fr": {"prefix": "translate English to French: ", "num_beams": 4},
}
SPECIAL = {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1}
EXTRA_IDS = 10


# Special tokens and tags as those of MADLAD-400, whose decoder starts with <unk>.
MADLAD = {"pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 0, **V1_1}
TAGS = "<2fr>,<2de>,<2translate>,<2zh_Latn>"


def write_tokenizer(folder: Path, pairs: Pairs, kind: str = "t5") -> int:
    """Write spiece.model (not of ByT5) and tokenizer_config.json; return the number of pieces, with the extra ids."""
    lines = [text for pair in pairs for text in pair] + [PREFIX, "summarize: "]
    if kind == "byt5":
        transformers.ByT5Tokenizer().save_pretrained(folder)
        return 381
    special = {"unk_id": 0, "user_defined_symbols": TAGS} if kind == "madlad" else SPECIAL
    model = Model.FromString(sentencepiece_model(lines, 170, **special))
    for piece in model.pieces:
        piece.type = 1 if piece.type == 4 else piece.type  # transformers 5 takes no space before symbols of users
    (folder / "spiece.model").write_bytes(model.SerializeToString())
    pad = {"pad_token": "<s>", "extra_ids": 0} if kind == "madlad" else {"extra_ids": EXTRA_IDS}
    (folder / "tokenizer_config.json").write_text(json.dumps({**pad, "tokenizer_class": "T5Tokenizer"}))
    return len(tokenizer_of(folder, kind))


def tokenizer_of(folder: Path, kind: str) -> Any:
    return (transformers.ByT5Tokenizer if kind == "byt5" else transformers.T5Tokenizer).from_pretrained(folder)


def write_model(
    folder: Path,
    pairs: Pairs,
    *,
    steps: int = 0,
    dtype: torch.dtype = torch.float32,
    tasks: dict[str, Any] | None = None,
    kind: str = "t5",
    prefix: str = PREFIX,
    **changes: Any,
) -> transformers.T5ForConditionalGeneration:
    """Write a folder as `save_pretrained` of version 4 does, and read it again.

    Args:
        steps: of training on the pairs; the weights are random without.
        tasks: `task_specific_params`.
        kind: t5, mt5, umt5, byt5 or madlad.
        prefix: of the sources in training.
        changes: fields of the configuration.
    """
    folder.mkdir(exist_ok=True)
    name = {"mt5": "MT5", "umt5": "UMT5"}.get(kind, "T5")
    make_config, make_model = (
        getattr(transformers, f"{name}{part}") for part in ("Config", "ForConditionalGeneration")
    )
    sizes = {"vocab_size": write_tokenizer(folder, pairs, kind) + 3, "d_model": 32, "d_kv": 12, "d_ff": 64}
    sizes |= {"num_heads": 4, "num_layers": 1, "dropout_rate": 0.0, "decoder_start_token_id": 0}
    config = make_config(**sizes | changes)
    torch.manual_seed(0)
    model = make_model(config).eval()
    is_tied = changes.get("tie_word_embeddings", kind != "mt5")
    with torch.no_grad():
        if not is_tied:
            model.lm_head.weight = torch.nn.Parameter(torch.randn_like(model.lm_head.weight) * 0.2)
        for name, parameter in model.named_parameters():
            if "layer_norm" in name:  # no gain of one
                parameter.add_(torch.randn_like(parameter), alpha=0.1)
            elif "relative" in name or "SelfAttention.q" in name:  # so that weights differ
                parameter.mul_(4)
    if steps:
        train(model, tokenizer_of(folder, kind), pairs, steps, prefix)
    model.to(dtype).save_pretrained(folder)
    # The configuration as published: version 5 of transformers writes options that say the same otherwise.
    path = folder / "config.json"
    fields = json.loads(path.read_text()) | {"tie_word_embeddings": is_tied, "task_specific_params": tasks}
    fields.pop("scale_decoder_outputs", None)
    path.write_text(json.dumps(fields))
    return make_model.from_pretrained(folder, dtype=torch.float32).eval()


def train(
    model: transformers.T5ForConditionalGeneration, tokenizer: Any, pairs: Pairs, steps: int, prefix: str
) -> None:
    """Learn the pairs by heart, with the prefix."""
    batch = tokenizer([prefix + source for source, _ in pairs], return_tensors="pt", padding=True)
    labels = tokenizer([target for _, target in pairs], return_tensors="pt", padding=True).input_ids
    labels[labels == tokenizer.pad_token_id] = -100
    learn(model, lambda: model(**batch, labels=labels).loss, steps, rate=1e-2)


def zipped(folder: Path) -> Path:
    """An archive of a folder, beside it."""
    return Path(shutil.make_archive(str(folder), "zip", folder))
