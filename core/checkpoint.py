"""One model, one file: a `.safetensors` with the parameters, the tokenizer, the configuration and how it was trained.

Layout: the parameters by their names in `Transformer`, tied weights once; the tokenizer's bytes as the uint8 tensor
`tokenizer.model`; in the metadata `format_version`, `config` and `training`, the latter two in JSON. There is no
pickle.
"""

import contextlib
import json
import os
import secrets
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, cast

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from core.config import TransformerConfig
from core.model import SinusoidalPositions, Transformer
from core.tokenizer import SentencePieceTokenizer, Tokenizer

FORMAT_VERSION = 1
TOKENIZER_KEY = "tokenizer.model"
MAX_HEADER_BYTES = 4 * 2**20  # what describes the tensors; ours is some 30 KB
MAX_TOKENIZER_BYTES = 64 * 2**20
# No training leads to weights beyond what half precision holds. In float32 they could overflow in a product of two
# hidden states; below, with LayerNorm behind every sub-layer, nothing does up to the logits, whatever the sentence.
MAX_WEIGHT = 65504.0
TRIAL_TOKENS = 8  # on each side of the pass by which a loaded model is tried
AGAIN = "copy or download it again, from where it is whole"  # what to do with part of a file
MAX_MESSAGE = 500  # characters; a file that is meant to harm may have names of any length
FLOATS = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}


class CheckpointError(ValueError):
    """A file that is not a usable checkpoint; the message says what is wrong with it."""

    def __init__(self, message: str) -> None:
        super().__init__(message if len(message) <= MAX_MESSAGE else f"{message[: MAX_MESSAGE - 4]} ...")


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
    path: str | Path,
    model: Transformer,
    tokenizer: Tokenizer,
    training: dict[str, Any] | None = None,
    dtype: torch.dtype = torch.float32,
) -> None:
    """Write everything to one file. A crash at any moment leaves either the old file or the new one, whole.

    Args:
        path: any file there is replaced.
        model: on any device, in any mode.
        tokenizer: the one that the model was trained with.
        training: how the weights came to be, in what JSON can hold.
        dtype: what the parameters are stored as: float32, float16 or bfloat16.

    Raises:
        ValueError: the tokenizer's vocabulary is not the model's, or a parameter is not finite, or too large for
            `dtype`.
        OSError: the file cannot be written; the old one, if any, is still there.
    """
    if tokenizer.vocab_size != model.config.vocab_size:
        raise ValueError(
            f"the tokenizer has {tokenizer.vocab_size} tokens but the model's vocab_size is {model.config.vocab_size}"
        )
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
        "config": json.dumps(_stored(model.config)),
        "training": json.dumps(training or {}),
    }

    def write(temporary: Path) -> None:
        try:
            save_file(tensors, temporary, metadata)
        except SafetensorError as error:
            raise OSError(f"{path} cannot be written: {error}") from error

    write_whole(Path(path), write)


def _stored(config: TransformerConfig) -> dict[str, Any]:
    """The fields of a configuration, but for one that came later and is not set: who does not know it can read the
    file too.
    """
    return {name: value for name, value in asdict(config).items() if value is not None or name != "num_decoder_heads"}


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary file beside `path`, flush it to the disk, and only then give it its name."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        temporary.touch(exist_ok=False)
        mode = temporary.stat().st_mode
        write(temporary)
        temporary.chmod(mode)  # `write` may have put a file that only its owner may read in the place of this one
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # not every file system can flush a folder; the file is whole either way
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def load_checkpoint(path: str | Path) -> Checkpoint:
    """Read a checkpoint that anybody may have made: nothing in it is run, and no memory is taken before it is checked.

    The model does not depend on the file afterwards: it may be replaced or deleted.

    Raises:
        CheckpointError: the file is not a checkpoint of this format, a part of it is missing, of a wrong shape or not
            finite, too large to compute with, or what the model computes is not finite.
        FileNotFoundError: there is no such file.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(
            f"there is no checkpoint at {path}: give the path of a .safetensors file, such as "
            f"checkpoints/en-de.safetensors"
        )
    _check_header(path)
    try:
        with safe_open(path, framework="pt") as file:
            config, training = _read_metadata(path, file.metadata() or {})
            model = _outline(config)
            slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
            _check_tensors(path, model, slices)
            tokenizer = _read_tokenizer(path, config, file.get_tensor(TOKENIZER_KEY))
            # A copy: what `get_tensor` returns is the file itself in memory, and would change with it.
            tensors = {
                name: file.get_tensor(name).to(torch.float32, copy=True) for name in slices if name != TOKENIZER_KEY
            }
    except SafetensorError as error:
        size = path.stat().st_size
        raise CheckpointError(
            f"{path.name} ({size} bytes) is cut off, damaged or not a safetensors file: {AGAIN} ({error})"
        ) from error
    for name, tensor in tensors.items():
        if not tensor.isfinite().all():
            raise CheckpointError(
                f"{path.name}: {name} holds {int((~tensor.isfinite()).sum())} values that are not finite (NaN or "
                f"infinite)"
            )
        if (largest := float(tensor.abs().max())) > MAX_WEIGHT:
            raise CheckpointError(
                f"{path.name}: {name} holds the weight {largest:.3g}, at most {MAX_WEIGHT:g} is read: the file is "
                f"damaged ({AGAIN}), "
                "or the training diverged"
            )
    model.load_state_dict(tensors, assign=True)
    if config.positions == "sinusoidal":
        model.embedding.positions = SinusoidalPositions(config)  # derived, so not in the file
    model.eval().requires_grad_(False)
    _try_out(path, model)
    return Checkpoint(model, tokenizer, training)


def _check_header(path: Path) -> None:
    """What can be told from the first bytes, before anybody believes the length that they declare."""
    if path.exists() and not path.is_file():
        raise CheckpointError(f"{path.name} is not a file: give the .safetensors file itself")
    size = path.stat().st_size
    with open(path, "rb") as file:
        start = file.read(9)
    length = int.from_bytes(start[:8], "little")
    if start[8:] != b"{":
        if start[:2] == b"PK" or start[:1] == b"\x80":
            raise CheckpointError(
                f"{path.name} is a PyTorch pickle, which can run code when it is read: Headlight opens only "
                f".safetensors. "
                "Convert it where you trust it."
            )
        raise CheckpointError(
            f"{path.name} ({size} bytes) is not a safetensors file: expected a JSON header after its first 8 bytes. "
            f"If it should be one, {AGAIN}"
        )
    if length > MAX_HEADER_BYTES:
        raise CheckpointError(f"{path.name} declares a header of {length} bytes; at most {MAX_HEADER_BYTES} are read")
    if 8 + length > size:
        raise CheckpointError(
            f"{path.name} is truncated: its header should have {length} bytes, the whole file has {size}; {AGAIN}"
        )


def _read_metadata(path: Path, metadata: dict[str, str]) -> tuple[TransformerConfig, dict[str, Any]]:
    version = metadata.get("format_version")
    if version is None:
        raise CheckpointError(
            f"{path.name} is a safetensors file but not a Headlight checkpoint: its metadata has no format_version. "
            "Give one that `python -m train` wrote"
        )
    if version != str(FORMAT_VERSION):
        raise CheckpointError(
            f"{path.name} has format_version {version!r}; this Headlight reads {FORMAT_VERSION}: a newer one may read "
            f"it"
        )
    if "config" not in metadata:
        raise CheckpointError(f"{path.name}: its metadata has no config")
    values = _json_object(path, "config", metadata["config"])
    unknown = sorted(values.keys() - {field.name for field in fields(TransformerConfig)})
    if unknown:
        raise CheckpointError(
            f"{path.name}: its config names {_some(unknown)}, which this Headlight does not know: a newer one may "
            f"read it"
        )
    try:
        config = TransformerConfig(**values)
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"{path.name}: its config cannot be used: {error}") from error
    return config, _json_object(path, "training", metadata.get("training", "{}"))


def _json_object(path: Path, key: str, text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path.name}: {key} in its metadata is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise CheckpointError(f"{path.name}: {key} in its metadata is a {type(value).__name__}, expected a JSON object")
    return cast("dict[str, Any]", value)


class _NothingDrawn(TorchFunctionMode):
    """Leaves out the random initialisation, for which PyTorch would first import a second's worth of modules on
    `meta`.
    """

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func.__name__ in ("uniform_", "normal_", "kaiming_uniform_"):  # of Tensor and of torch.nn.init
            return args[0] if args else kwargs["tensor"]
        return func(*args, **kwargs)


def _outline(config: TransformerConfig) -> Transformer:
    """A model whose parameters have shapes but take no memory."""
    with torch.device("meta"), _NothingDrawn():
        return Transformer(config)


def _check_tensors(path: Path, model: Transformer, found: dict[str, Any]) -> None:
    """Names, shapes and types against the configuration, before any tensor is read."""
    expected = {name: list(parameter.shape) for name, parameter in model.named_parameters()}
    missing = sorted((expected.keys() | {TOKENIZER_KEY}) - found.keys())
    surplus = sorted(found.keys() - expected.keys() - {TOKENIZER_KEY})
    if missing:
        raise CheckpointError(f"{path.name} lacks {len(missing)} tensors that its config calls for: {_some(missing)}")
    if surplus:
        raise CheckpointError(
            f"{path.name} holds {len(surplus)} tensors that its config has no place for: {_some(surplus)}"
        )
    for name, shape in expected.items():
        if found[name].get_shape() != shape:
            raise CheckpointError(
                f"{path.name}: {name} has shape {found[name].get_shape()}, expected {shape} from the config"
            )
        if found[name].get_dtype() not in FLOATS:
            raise CheckpointError(
                f"{path.name}: {name} has type {found[name].get_dtype()}, expected one of {', '.join(FLOATS)}"
            )
    dtype, shape = found[TOKENIZER_KEY].get_dtype(), found[TOKENIZER_KEY].get_shape()
    if dtype != "U8" or len(shape) != 1 or shape[0] > MAX_TOKENIZER_BYTES:
        raise CheckpointError(
            f"{path.name}: {TOKENIZER_KEY} has type {dtype} and shape {shape}, expected one row of at most "
            f"{MAX_TOKENIZER_BYTES} U8"
        )


@torch.no_grad()
def _try_out(path: Path, model: Transformer) -> None:
    """One short forward pass: weights may be finite, yet what is computed with them not.

    The tokens are those with the largest embeddings, so that a single damaged row of that matrix is seen, too.

    Raises:
        CheckpointError: a log-probability is NaN or infinite.
    """
    config = model.config
    largest = model.embedding.tokens.weight.abs().amax(1)
    largest[[config.pad_id, config.bos_id, config.eos_id]] = -1
    positions = config.max_positions if config.positions == "learned" else TRIAL_TOKENS
    count = min(TRIAL_TOKENS, positions, config.vocab_size - 2) - 1
    tokens = largest.topk(count).indices
    source, target = F.pad(tokens, (0, 1), value=config.eos_id), F.pad(tokens, (1, 0), value=config.bos_id)
    if not model(source[None], target[None]).log_softmax(-1).isfinite().all():
        raise CheckpointError(
            f"{path.name}: what this model computes is not finite (NaN or infinite): the file is damaged ({AGAIN}), "
            f"or the training diverged"
        )


def _some(names: list[str]) -> str:
    return ", ".join(f"{name!r:.60}" for name in names[:3]) + (", ..." if len(names) > 3 else "")


def _read_tokenizer(path: Path, config: TransformerConfig, data: Tensor) -> SentencePieceTokenizer:
    try:
        tokenizer = SentencePieceTokenizer(data.numpy().tobytes())
    except ValueError as error:
        raise CheckpointError(f"{path.name}: its tokenizer cannot be read: {error}") from error
    for name in ("vocab_size", "pad_id", "bos_id", "eos_id"):
        if getattr(tokenizer, name) != getattr(config, name):
            raise CheckpointError(
                f"{path.name}: its tokenizer has {name} {getattr(tokenizer, name)}, its model {getattr(config, name)}"
            )
    return tokenizer
