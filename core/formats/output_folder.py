"""Models in the layouts of other projects, in folders that are written whole or not at all."""

import os
import secrets
import shutil
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import torch

from core.files.file_writing import writing
from core.files.strict_json import json_object
from core.formats.checkpoint import Checkpoint
from core.formats.model_facts import NORMS, model_facts
from core.model import Transformer
from core.model.config import TransformerConfig
from core.text.byte_pieces import END, PAD, UNKNOWN
from core.text.dictionary_tokenizer import PREPARATIONS, SETTINGS, DictionaryTokenizer
from core.text.marian_tokenizer import SOURCE_MODEL, TARGET_MODEL, MarianTokenizer
from core.text.piece_splitting import OF_TARGET, SENTENCEPIECE
from core.text.tokenizer import Tokenizer
from core.text.tokenizer_files import files_of

README = "README.md"
MAX_POSITIONS = 1024  # rows of a stored table of positions; sources have at most 512 tokens, translations 50 more
# Values of fields that every layout of this package calls for.
COMMON_VALUES: dict[str, object] = {
    "neighbourhood": None,
    "patch_size": None,
    "source_prefix": (),
    "source_suffix": (),
    "source_end": True,
    "mask_id": None,
    "norm_kind": "layer",
    "gated_feed_forward": False,
}


def _yes(value: object) -> str:
    return "yes" if value else "no"


def _ids(value: object) -> str:
    return ", ".join(map(str, cast("tuple[int, ...]", value))) or "none"


# Fields that a layout may fix, in the words of the report (`model_facts`): a name, and a text for a value.
WORDS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "neighbourhood": ("attention", lambda value: "all positions" if value is None else f"{value} nearest positions"),
    "patch_size": ("source", lambda value: "tokens" if value is None else "patches of an image"),
    "source_prefix": ("tokens before every source", _ids),
    "source_suffix": ("tokens after every source", _ids),
    "source_end": ("</s> after a source", _yes),
    "mask_id": ("causal mask", lambda value: _yes(value is None)),
    "positions": ("positions", str),
    "position_exponent": ("exponent of the positions", str),
    "position_offset": ("first position", str),
    "norm": ("norms", lambda value: NORMS[value]),
    "final_norm": ("norm after the last layer", _yes),
    "norm_kind": ("kind of norm", lambda value: "RMSNorm" if value == "rms" else "LayerNorm"),
    "gated_feed_forward": ("gated networks", _yes),
    "norm_eps": ("epsilon of the norms", "{:g}".format),
    "embedding_norm": ("norm on the embeddings", _yes),
    "forced_first_id": ("first token", lambda value: "free" if value is None else f"always {value}"),
}


@contextmanager
def new_folder(path: Path) -> Generator[Path]:
    """Write a new or empty folder atomically: by a temporary name beside it, then renamed, or removed after an error.

    Raises:
        ValueError: there is something else at the path.
        NotWrittenError: the folder cannot be written.
    """
    if path.is_symlink() or (path.exists() and (not path.is_dir() or any(path.iterdir()))):
        raise ValueError(f"{path} exists and is not an empty folder: give a new one, or remove it first")
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    with writing(path):
        temporary.mkdir()
        try:
            yield temporary
            for file in temporary.iterdir():
                with open(file, "rb") as written:
                    os.fsync(written.fileno())
            temporary.rename(path)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def require_values(config: TransformerConfig, expected: Mapping[str, object], layout: str) -> None:
    """Check that a layout has room for an architecture, of which it fixes the value of some fields.

    Raises:
        ValueError: naming every field with another value, see `WORDS`.
    """
    wrong: list[str] = []
    for field, value in expected.items():
        if getattr(config, field) != value:
            name, text = WORDS[field]
            wrong.append(f"{name}: {text(getattr(config, field))}, expected {text(value)}")
    for side, heads in (("encoder", config.encoder_heads), ("decoder", config.decoder_heads)):
        if {heads.d_k * heads.num_heads, heads.d_v * heads.num_heads} != {config.d_model}:
            wrong.append(
                f"the {side}'s {heads.num_heads} heads have d_k {heads.d_k} and d_v {heads.d_v}, expected d_model / "
                f"heads = {config.d_model / heads.num_heads:g}"
            )
    if wrong:
        raise ValueError(f"{layout} does not support this model: {'; '.join(wrong)}")


def sentencepiece_files(checkpoint: Checkpoint, layout: str) -> dict[str, bytes]:
    """Return the files of a tokenizer: both SentencePiece models, and all others of a `MarianTokenizer`.

    Raises:
        ValueError: the tokenizer splits texts otherwise, or lacks a special piece.
    """
    tokenizer = checkpoint.tokenizer
    if isinstance(tokenizer, MarianTokenizer):
        return files_of(tokenizer.to_bytes())
    model = target = tokenizer.to_bytes()
    if isinstance(tokenizer, DictionaryTokenizer):
        files = files_of(model)
        settings = json_object(files[SETTINGS])
        is_prepared = any(settings.get(name) is True for name in PREPARATIONS)
        if SENTENCEPIECE not in files or tokenizer.language_codes or is_prepared:
            raise ValueError(
                f"{layout} does not support this model's tokenizer: expected SentencePiece models and nothing else, "
                f"and this one has byte-pair merges, tokens of languages, rules of Moses, or lower case"
            )
        model = files[SENTENCEPIECE]
        target = files.get(OF_TARGET + SENTENCEPIECE, model)
    for side in (tokenizer, tokenizer.target):
        for piece, token_id in ((PAD, side.pad_id), (END, side.eos_id), (UNKNOWN, side.token_id(UNKNOWN))):
            if side.piece(token_id) != piece:
                raise ValueError(
                    f"{layout} calls the token {token_id} {piece}, this tokenizer {side.piece(token_id)!r}"
                )
    return {SOURCE_MODEL: model, TARGET_MODEL: target}


def pieces_of(tokenizer: Tokenizer) -> list[str]:
    """Return the pieces of one side by their ids."""
    return [tokenizer.piece(token_id) for token_id in range(tokenizer.vocab_size)]


def storage_type(model: Transformer) -> torch.dtype:
    """Return the smallest type that holds every parameter without loss: half precision, if the model came from that."""
    for dtype in (torch.float16, torch.bfloat16):
        if all(torch.equal(each.to(dtype).to(each.dtype), each) for each in model.parameters()):
            return dtype
    return torch.float32


def readme(checkpoint: Checkpoint, title: str, code: str, difference: str, punctuation: str) -> bytes:
    """Return the text of a README: code that translates with the model, how it differs from Headlight, in punctuation
    only if that is normalised before a text is split, and facts about it.
    """
    known = model_facts(checkpoint.model, checkpoint.tokenizer, checkpoint.training)
    differences = [
        _penalty_difference(checkpoint.model.config),
        "White space: Headlight makes single spaces of it before it splits a text.",
        difference,
        *([f"Punctuation: {punctuation}"] if getattr(checkpoint.tokenizer, "normalises", False) else []),
    ]
    return "\n".join(
        [
            f"# {title}",
            "",
            "Written by Headlight (`python -m core convert`). The weights compute the same function as in Headlight.",
            "",
            "```python",
            code.strip(),
            "```",
            "",
            "## Differences from Headlight",
            "",
            *(f"- {difference}" for difference in differences),
            "",
            "## The model in Headlight",
            "",
            *(f"- {name}: {value}" for name, value in known.items()),
            "",
        ]
    ).encode()


def _penalty_difference(config: TransformerConfig) -> str:
    """Say how the length penalty of transformers and CTranslate2 differs."""
    if config.penalty_formula == "length":
        return "Length penalty: none. Log-probabilities are divided by length^alpha in both."
    return (
        "Length penalty: log-probabilities are divided by length^alpha here, and by the paper's "
        "((5 + length) / 6)^alpha in Headlight. The same alpha prefers longer translations here, so the best of a beam "
        "may be another one; with alpha 0 there is no difference."
    )
