"""Checkpoints: parameters, tokenizer and configuration in one `.safetensors` file.

Layout: the parameters by their names in `Transformer`, tied weights once; the tokenizer's bytes as the uint8 tensor
`tokenizer.model`, which are a SentencePiece model or, for an imported model, the files of its tokenizer; in the
metadata `format_version`, and `config` and `training` in JSON. There is no pickle.
"""

import json
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, cast

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from core.files.budget import MAX_HEADER_BYTES, MAX_TOKENIZER_BYTES
from core.files.file_writing import NotWrittenError, kind_of, reading, write_atomically
from core.files.shipped_files import checkpoint_path
from core.files.strict_json import json_text
from core.formats.refused_files import refuse_adapter, refuse_file
from core.formats.untrusted_parameters import ADVICE, CheckpointError, as_parameter, fill_model, meta_model
from core.model import Transformer
from core.model.config import TransformerConfig
from core.model.half_precision import is_large
from core.text import text_normalization
from core.text.dictionary_tokenizer import SETTINGS, DictionaryTokenizer
from core.text.marian_tokenizer import MarianTokenizer
from core.text.tokenizer import SentencePieceTokenizer, Tokenizer
from core.text.tokenizer_files import files_of

FORMAT_VERSION = 1
TOKENIZER_KEY = "tokenizer.model"
CONVERSION = "`python -m core convert` makes one of a model of another project, given its folder, archive or files"
# Fields of the configuration that every file has; the others came later and are stored if they differ from the default.
_FIRST_FIELDS = {
    *("vocab_size", "d_model", "d_ff", "num_heads", "d_k", "d_v", "num_encoder_layers", "num_decoder_layers"),
    *("dropout", "positions", "neighbourhood", "max_positions", "pad_id", "bos_id", "eos_id"),
}
FLOATS = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}


@dataclass(frozen=True)
class Checkpoint:
    """A loaded checkpoint, with the model in evaluation mode.

    It is in float32, but for a large model's matrices (`as_parameter`), whose layers compute in float32, too.
    """

    model: Transformer
    tokenizer: Tokenizer
    training: dict[str, Any] = field(default_factory=dict)  # any facts about the training

    @property
    def config(self) -> TransformerConfig:
        return self.model.config


def save_checkpoint(
    path: str | Path,
    model: Transformer,
    tokenizer: Tokenizer,
    training: dict[str, Any] | None = None,
    dtype: torch.dtype = torch.float32,
) -> None:
    """Write a checkpoint atomically, in a type of `FLOATS`: a crash leaves either the old or the new file.

    Raises:
        ValueError: the tokenizer's vocabulary differs from the model's, or a parameter is not finite or too large for
            `dtype`.
        NotWrittenError: the file cannot be written; an old one is unchanged.
    """
    check_vocabularies(tokenizer, model.config)
    if dtype not in FLOATS.values():
        raise ValueError(f"parameters are stored as one of {', '.join(map(str, FLOATS.values()))}, not as {dtype}")
    tensors = {name: parameter.detach().to("cpu", dtype).contiguous() for name, parameter in model.named_parameters()}
    for name, tensor in tensors.items():
        if not tensor.isfinite().all():
            raise ValueError(
                f"{name} is not finite in {dtype}, so nothing was saved: a file with NaN or infinite weights could "
                f"not be loaded"
            )
    tensors[TOKENIZER_KEY] = torch.frombuffer(bytearray(tokenizer.to_bytes()), dtype=torch.uint8)
    metadata = {
        "format_version": str(FORMAT_VERSION),
        "config": json_text(_stored(model.config)),
        "training": json_text(training or {}),
    }

    def write(temporary: Path) -> None:
        try:
            save_file(tensors, temporary, metadata)
        except SafetensorError as error:
            raise NotWrittenError(Path(path), OSError(str(error))) from error

    write_atomically(Path(path), write)


def check_vocabularies(tokenizer: Tokenizer, config: TransformerConfig) -> None:
    """Check that a tokenizer has as many tokens as a model on both sides, or raise a `ValueError`."""
    for name, side, expected in (
        ("vocab_size", tokenizer, config.vocab_size),
        ("target_vocab_size", tokenizer.target, config.target_size),
    ):
        if side.vocab_size != expected:
            raise ValueError(f"the tokenizer has {side.vocab_size} tokens but the model's {name} is {expected}")


def _stored(config: TransformerConfig) -> dict[str, Any]:
    """Fields of a configuration, see `_FIRST_FIELDS`."""
    return {
        entry.name: getattr(config, entry.name)
        for entry in fields(config)
        if entry.name in _FIRST_FIELDS or getattr(config, entry.name) != entry.default
    }


def load_checkpoint(path: str | Path) -> Checkpoint:
    """Read an untrusted checkpoint, given as its path or, of a shipped one, as its name, such as `en-de`.

    Nothing in it is executed, and sizes are checked before memory is allocated. The file may be replaced or deleted
    afterwards. A large model (`as_parameter`) reads its matrices from the file, which must not be overwritten in place.

    Raises:
        CheckpointError: the file is not a checkpoint of this format, or a part of it is missing, malformed, not finite
            or too large; or the model's outputs are not finite.
        FileNotFoundError: there is neither such a file nor such a name.
    """
    path = checkpoint_path(path)
    check_header(path)
    try:
        with safe_open(path, framework="pt") as file:
            config, training = _read_metadata(path, file.metadata() or {})
            model = meta_model(config)
            slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
            _check_tensors(path, model, slices)
            tokenizer = _read_tokenizer(path, config, file.get_tensor(TOKENIZER_KEY))
            large = is_large(model)
            # `get_tensor` returns a view of the mapped file
            tensors = {name: as_parameter(file.get_tensor(name), large) for name in slices if name != TOKENIZER_KEY}
    except SafetensorError as error:
        size = path.stat().st_size
        raise CheckpointError(
            f"{path.name} ({size} bytes) is cut off, damaged or not a safetensors file: {ADVICE} ({error})"
        ) from error
    return Checkpoint(fill_model(path.name, model, tensors), tokenizer, training)


def check_header(path: Path) -> None:
    """Check the first bytes, before the declared length is trusted."""
    if path.exists() and not path.is_file():
        raise CheckpointError(f"{path.name} is {kind_of(path)}, expected a .safetensors file: {CONVERSION}")
    size = path.stat().st_size
    with reading(path), open(path, "rb") as file:
        start = file.read(9)
    length = int.from_bytes(start[:8], "little")
    if start[8:] != b"{":
        refuse_file(path, path.name)
        if start[:2] == b"PK" or start[:1] == b"\x80":
            kind = "a zip archive or a PyTorch file" if start[:2] == b"PK" else "a pickle, as older PyTorch files are"
            raise CheckpointError(f"{path.name} is {kind}, expected a .safetensors file: {CONVERSION}")
        raise CheckpointError(
            f"{path.name} ({size} bytes) is not a safetensors file: expected a JSON header after its first 8 bytes. "
            f"If it is damaged, {ADVICE}"
        )
    if length > MAX_HEADER_BYTES:
        raise CheckpointError(f"{path.name} declares a header of {length} bytes, at most {MAX_HEADER_BYTES} are read")
    if 8 + length > size:
        raise CheckpointError(
            f"{path.name} is truncated: its header should have {length} bytes, the whole file has {size}; {ADVICE}"
        )


def _read_metadata(path: Path, metadata: dict[str, str]) -> tuple[TransformerConfig, dict[str, Any]]:
    version = metadata.get("format_version")
    if version is None:
        refuse_adapter(path, path.name)
        raise CheckpointError(
            f"{path.name} is a safetensors file but not a Headlight checkpoint: its metadata has no format_version. "
            f"Give one written by `python -m train`; {CONVERSION}"
        )
    if version != str(FORMAT_VERSION):
        raise CheckpointError(
            f"{path.name} has format_version {version!r}, this Headlight reads {FORMAT_VERSION}: try a newer version "
            f"of Headlight"
        )
    if "config" not in metadata:
        raise CheckpointError(f"{path.name}: its metadata has no config")
    values = _json_object(path, "config", metadata["config"])
    unknown = sorted(values.keys() - {field.name for field in fields(TransformerConfig)})
    if unknown:
        raise CheckpointError(
            f"{path.name}: its config names {_first_names(unknown)}, which this Headlight does not know: try a newer "
            f"version of Headlight"
        )
    try:
        config = TransformerConfig(**values)
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"{path.name}: its config cannot be used: {error}") from error
    training = _json_object(path, "training", metadata.get("training", "{}"))
    if (text := text_version(training)) not in range(text_normalization.VERSION + 1):
        raise CheckpointError(
            f"{path.name} was trained on text of text_normalization {text!r:.60}, this Headlight knows up to "
            f"{text_normalization.VERSION}: try a newer version of Headlight"
        )
    return config, training


def text_version(training: dict[str, Any]) -> Any:
    """Version of `core.text.text_normalization` of the training text, 0 if there is none.

    It may be any value of JSON, as the facts are untrusted.
    """
    manifest = training.get("manifest")
    return cast("dict[str, Any]", manifest).get("text_normalization", 0) if isinstance(manifest, dict) else 0


def lacks_causal_mask(training: dict[str, Any]) -> bool:
    """Whether a model was read from a module whose decoder attends to later tokens; the facts are untrusted."""
    imported = training.get("imported")
    return isinstance(imported, dict) and cast("dict[str, Any]", imported).get("causal mask") is False


def _json_object(path: Path, key: str, text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path.name}: {key} in its metadata is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise CheckpointError(f"{path.name}: {key} in its metadata is a {type(value).__name__}, expected a JSON object")
    return cast("dict[str, Any]", value)


def _check_tensors(path: Path, model: Transformer, stored: dict[str, Any]) -> None:
    """Check names, shapes and types against the configuration, before reading tensors."""
    expected = {name: list(parameter.shape) for name, parameter in model.named_parameters()}
    missing = sorted((expected.keys() | {TOKENIZER_KEY}) - stored.keys())
    surplus = sorted(stored.keys() - expected.keys() - {TOKENIZER_KEY})
    for names, problem in (
        (missing, "lacks {} tensors that its config calls"),
        (surplus, "has {} tensors that its config does not call"),
    ):
        if names:
            raise CheckpointError(f"{path.name} {problem.format(len(names))} for: {_first_names(names)}")
    for name, shape in expected.items():
        if stored[name].get_shape() != shape:
            raise CheckpointError(
                f"{path.name}: {name} has shape {stored[name].get_shape()}, expected {shape} from the config: save the "
                f"model again with the configuration that it was trained with"
            )
        if stored[name].get_dtype() not in FLOATS:
            raise CheckpointError(
                f"{path.name}: {name} has type {stored[name].get_dtype()}, expected one of {', '.join(FLOATS)}"
            )
    dtype, shape = stored[TOKENIZER_KEY].get_dtype(), stored[TOKENIZER_KEY].get_shape()
    if dtype != "U8" or len(shape) != 1 or shape[0] > MAX_TOKENIZER_BYTES:
        raise CheckpointError(
            f"{path.name}: {TOKENIZER_KEY} has type {dtype} and shape {shape}, expected one row of at most "
            f"{MAX_TOKENIZER_BYTES} U8"
        )


def _first_names(names: list[str]) -> str:
    return ", ".join(f"{name!r:.60}" for name in names[:3]) + (", ..." if len(names) > 3 else "")


def _read_tokenizer(path: Path, config: TransformerConfig, tensor: Tensor) -> Tokenizer:
    data = tensor.numpy().tobytes()
    try:
        is_packed = data[8:9] == b"{"  # a header of safetensors
        tokenizer = _imported_tokenizer(files_of(data), config) if is_packed else SentencePieceTokenizer(data)
    except ValueError as error:
        raise CheckpointError(f"{path.name}: its tokenizer cannot be read: {error}") from error
    for name in ("vocab_size", "pad_id", "bos_id", "eos_id"):
        if getattr(tokenizer, name) != getattr(config, name):
            raise CheckpointError(
                f"{path.name}: its tokenizer has {name} {getattr(tokenizer, name)}, its model {getattr(config, name)}: "
                f"save it again with the tokenizer that the model was trained with"
            )
    return tokenizer


def _imported_tokenizer(files: dict[str, bytes], config: TransformerConfig) -> Tokenizer:
    if SETTINGS in files:
        return DictionaryTokenizer(files, config.bos_id)
    return MarianTokenizer(files, config.vocab_size, config.target_size, config.bos_id)
