"""One model, one file: a `.safetensors` with the parameters, the tokenizer, the configuration and how it was trained.

Layout: the parameters by their names in `Transformer`, tied weights once; the tokenizer's bytes as the uint8 tensor
`tokenizer.model`; in the metadata `format_version`, `config` and `training`, the latter two in JSON. There is no pickle.
"""

import json
import os
import secrets
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from core.config import TransformerConfig
from core.model import SinusoidalPositions, Transformer
from core.tokenizer import SentencePieceTokenizer, Tokenizer

FORMAT_VERSION = 1
TOKENIZER_KEY = "tokenizer.model"
MAX_HEADER_BYTES = 4 * 2**20  # what describes the tensors; ours is some 30 KB
MAX_TOKENIZER_BYTES = 64 * 2**20
FLOATS = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}


class CheckpointError(ValueError):
    """A file that is not a usable checkpoint; the message says what is wrong with it."""


@dataclass(frozen=True)
class Checkpoint:
    """A loaded checkpoint: a model in float32 and evaluation mode, and what came with it."""

    model: Transformer
    tokenizer: Tokenizer
    training: dict[str, Any] = field(default_factory=dict)  # how the weights came to be; free of form

    @property
    def config(self) -> TransformerConfig:
        return self.model.config


def save_checkpoint(
    path: str | Path, model: Transformer, tokenizer: Tokenizer, training: dict[str, Any] | None = None, dtype: torch.dtype = torch.float32
) -> None:
    """Write everything to one file. A crash at any moment leaves either the old file or the new one, whole.

    Raises:
        ValueError: the tokenizer's vocabulary is not the model's.
        OSError: the file cannot be written; the old one, if any, is still there.
    """
    if tokenizer.vocab_size != model.config.vocab_size:
        raise ValueError(f"the tokenizer has {tokenizer.vocab_size} tokens but the model's vocab_size is {model.config.vocab_size}")
    tensors = {name: parameter.detach().to("cpu", dtype).contiguous() for name, parameter in model.named_parameters()}
    tensors[TOKENIZER_KEY] = torch.frombuffer(bytearray(tokenizer.to_bytes()), dtype=torch.uint8)
    metadata = {
        "format_version": str(FORMAT_VERSION),
        "config": json.dumps(asdict(model.config)),
        "training": json.dumps(training or {}, ensure_ascii=False),
    }
    path = Path(path)
    write_whole(path, lambda temporary: save_file(tensors, temporary, metadata))


def write_whole(path: Path, write: "Any") -> None:
    """Let `write` fill a temporary file beside `path`, flush it to the disk, and only then give it its name."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        write(temporary)
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    finally:
        temporary.unlink(missing_ok=True)


def load_checkpoint(path: str | Path) -> Checkpoint:
    """Read a checkpoint that anybody may have made: nothing in it is run, and no memory is taken before it is checked.

    Raises:
        CheckpointError: the file is not a checkpoint of this format, or a part of it is missing, of a wrong shape or not finite.
        FileNotFoundError: there is no such file.
    """
    path = Path(path)
    _check_header(path)
    try:
        with safe_open(path, framework="pt") as file:
            config, training = _read_metadata(path, file.metadata() or {})
            shapes = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
            _check_tensors(path, config, shapes)
            tokenizer = _read_tokenizer(path, config, file.get_tensor(TOKENIZER_KEY))
            tensors = {name: file.get_tensor(name).float() for name in shapes if name != TOKENIZER_KEY}
    except SafetensorError as error:
        raise CheckpointError(f"{path.name} is damaged or not a safetensors file: {error}") from error
    for name, tensor in tensors.items():
        if not tensor.isfinite().all():
            raise CheckpointError(f"{path.name}: {name} holds {int((~tensor.isfinite()).sum())} values that are not finite (NaN or infinite)")
    return Checkpoint(_build(config, tensors), tokenizer, training)


def _check_header(path: Path) -> None:
    size = path.stat().st_size
    with open(path, "rb") as file:
        start = file.read(9)
    if start[:2] == b"PK" or start[:1] == b"\x80":
        raise CheckpointError(
            f"{path.name} is a PyTorch pickle, which can run code when it is read: Headlight opens only .safetensors. "
            "Convert it where you trust it."
        )
    length = int.from_bytes(start[:8], "little")
    if len(start) < 9 or start[8:9] != b"{":
        raise CheckpointError(f"{path.name} ({size} bytes) is not a safetensors file: expected a JSON header after its first 8 bytes")
    if length > MAX_HEADER_BYTES:
        raise CheckpointError(f"{path.name} declares a header of {length} bytes; at most {MAX_HEADER_BYTES} are read")
    if 8 + length > size:
        raise CheckpointError(f"{path.name} is truncated: its header should have {length} bytes, the whole file has {size}")


def _read_metadata(path: Path, metadata: dict[str, str]) -> tuple[TransformerConfig, dict[str, Any]]:
    version = metadata.get("format_version")
    if version is None:
        raise CheckpointError(f"{path.name} is a safetensors file but not a Headlight checkpoint: its metadata has no format_version")
    if version != str(FORMAT_VERSION):
        raise CheckpointError(f"{path.name} has format_version {version!r}; this Headlight reads {FORMAT_VERSION}: a newer one may read it")
    try:
        config = TransformerConfig(**json.loads(metadata["config"]))
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{path.name}: the configuration in its metadata cannot be used: {error}") from error
    try:
        training = json.loads(metadata.get("training", "{}"))
    except ValueError as error:
        raise CheckpointError(f"{path.name}: the training facts in its metadata are not JSON: {error}") from error
    if not isinstance(training, dict):
        raise CheckpointError(f"{path.name}: the training facts in its metadata are a {type(training).__name__}, expected an object")
    return config, training


def _check_tensors(path: Path, config: TransformerConfig, found: dict[str, Any]) -> None:
    """Names, shapes and types against the configuration, before any tensor is read."""
    if config.num_encoder_layers + config.num_decoder_layers > len(found):
        layers = f"{config.num_encoder_layers} + {config.num_decoder_layers} layers"
        raise CheckpointError(f"{path.name}: the configuration says {layers}, but the file holds only {len(found)} tensors")
    with torch.device("meta"):
        expected = {name: list(parameter.shape) for name, parameter in Transformer(config).named_parameters()}
    missing = sorted((expected.keys() | {TOKENIZER_KEY}) - found.keys())
    surplus = sorted(found.keys() - expected.keys() - {TOKENIZER_KEY})
    if missing:
        raise CheckpointError(f"{path.name} lacks {len(missing)} tensors that its configuration calls for: {_some(missing)}")
    if surplus:
        raise CheckpointError(f"{path.name} holds {len(surplus)} tensors that its configuration has no place for: {_some(surplus)}")
    for name, shape in expected.items():
        if found[name].get_shape() != shape:
            raise CheckpointError(f"{path.name}: {name} has shape {found[name].get_shape()}, expected {shape} from the configuration")
        if found[name].get_dtype() not in FLOATS:
            raise CheckpointError(f"{path.name}: {name} has type {found[name].get_dtype()}, expected one of {', '.join(FLOATS)}")


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")


def _read_tokenizer(path: Path, config: TransformerConfig, data: Tensor) -> SentencePieceTokenizer:
    if data.dtype != torch.uint8 or data.dim() != 1 or len(data) > MAX_TOKENIZER_BYTES:
        raise CheckpointError(
            f"{path.name}: {TOKENIZER_KEY} is {data.dtype} {list(data.shape)}, expected at most {MAX_TOKENIZER_BYTES} bytes in one row of uint8"
        )
    try:
        tokenizer = SentencePieceTokenizer(data.numpy().tobytes())
    except ValueError as error:
        raise CheckpointError(f"{path.name}: its tokenizer cannot be read: {error}") from error
    for name in ("vocab_size", "pad_id", "bos_id", "eos_id"):
        if getattr(tokenizer, name) != getattr(config, name):
            raise CheckpointError(f"{path.name}: its tokenizer has {name} {getattr(tokenizer, name)}, its model {getattr(config, name)}")
    return tokenizer


def _build(config: TransformerConfig, tensors: dict[str, Tensor]) -> Transformer:
    with torch.device("meta"):
        model = Transformer(config)
    model.load_state_dict(tensors, assign=True)
    if config.positions == "sinusoidal":
        model.embedding.positions = SinusoidalPositions(config)  # derived, so not in the file
    return model.eval().requires_grad_(False)
