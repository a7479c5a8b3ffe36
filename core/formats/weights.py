"""Untrusted weights of other projects: safetensors, and PyTorch files under `weights_only`."""

import pickle
import zipfile
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from core.checkpoint import ADVICE, CheckpointError, check_header

MAX_PICKLE_BYTES = 16 * 2**20  # names and shapes of a PyTorch file; the weights are beside them
FLOATS = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16"}
_SAFETENSORS_TYPES = {name: dtype for dtype, name in FLOATS.items()}


@dataclass(frozen=True)
class Weights:
    """Tensors of a file, none of which has been read.

    Attributes:
        file_name: for messages.
        shapes: by name.
        dtypes: by name; only floating-point types of at most 32 bits.
    """

    file_name: str
    shapes: Mapping[str, tuple[int, ...]]
    dtypes: Mapping[str, torch.dtype]
    _get: Callable[[str], Tensor]

    def read(self, name: str) -> Tensor:
        """A copy in float32."""
        return self._get(name).to(torch.float32, copy=True, memory_format=torch.contiguous_format)


@contextmanager
def open_weights(path: Path, file_name: str) -> Generator[Weights]:
    """Open a safetensors or PyTorch file, whichever it is.

    Args:
        file_name: for messages.

    Raises:
        CheckpointError: it is neither, is damaged, needs more than tensors, or has tensors of another type.
    """
    with open(path, "rb") as file:
        start = file.read(9)
    if start[8:] == b"{":
        with _safetensors(path, file_name) as weights:
            yield weights
    else:
        yield _pytorch(path, file_name)


@contextmanager
def _safetensors(path: Path, file_name: str) -> Generator[Weights]:
    check_header(path)
    try:
        with safe_open(path, framework="pt") as file:
            slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
            for name, each in slices.items():
                if each.get_dtype() not in _SAFETENSORS_TYPES:
                    raise _unknown_type(file_name, name, each.get_dtype())
            yield Weights(
                file_name,
                {name: tuple(each.get_shape()) for name, each in slices.items()},
                {name: _SAFETENSORS_TYPES[each.get_dtype()] for name, each in slices.items()},
                file.get_tensor,
            )
    except SafetensorError as error:
        raise CheckpointError(
            f"{file_name} is cut off, damaged or not a safetensors file: {ADVICE} ({error})"
        ) from error


def _pytorch(path: Path, file_name: str) -> Weights:
    is_archive = zipfile.is_zipfile(path)
    if is_archive:
        _check_archive(path, file_name)
    try:
        # With `mmap` a storage cannot reach beyond the file, whatever size it declares.
        state = torch.load(path, map_location="cpu", weights_only=True, mmap=is_archive)
    except pickle.UnpicklingError as error:
        raise CheckpointError(
            f"{file_name} is not a file of tensors alone, or damaged: Headlight unpickles nothing else ({error})"
        ) from error
    except Exception as error:  # PyTorch does not list them; damaged files raise a dozen
        raise CheckpointError(
            f"{file_name} is cut off, damaged or not a PyTorch file: {ADVICE} ({type(error).__name__}: {error})"
        ) from error
    if not isinstance(state, Mapping):
        raise CheckpointError(f"{file_name} holds a {type(state).__name__}, expected tensors by name")
    tensors: dict[str, Tensor] = {}
    for name, tensor in cast("Mapping[Any, Any]", state).items():
        if not isinstance(name, str) or not isinstance(tensor, Tensor):
            raise CheckpointError(
                f"{file_name} holds a {type(tensor).__name__} under {name!r:.60}, expected tensors by name"
            )
        if tensor.layout != torch.strided or tensor.device.type != "cpu" or tensor.dtype not in FLOATS:
            raise _unknown_type(file_name, name, f"{tensor.dtype}, {tensor.layout}, {tensor.device}")
        tensors[name] = tensor.detach()
    return Weights(
        file_name,
        {name: tuple(tensor.shape) for name, tensor in tensors.items()},
        {name: tensor.dtype for name, tensor in tensors.items()},
        tensors.__getitem__,
    )


def _check_archive(path: Path, file_name: str) -> None:
    """Check that a PyTorch file is uncompressed, as PyTorch writes it, so that nothing in it unpacks to more."""
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise CheckpointError(f"{file_name} is a damaged PyTorch file: {ADVICE} ({error})") from error
    size = path.stat().st_size
    for entry in entries:
        if entry.compress_type != zipfile.ZIP_STORED or entry.file_size > size:
            raise CheckpointError(
                f"{file_name}: {entry.filename!r:.60} is compressed or larger than the file, which PyTorch does not "
                f"write: save it again"
            )
        if entry.filename.endswith(".pkl") and entry.file_size > MAX_PICKLE_BYTES:
            raise CheckpointError(
                f"{file_name}: {entry.filename!r:.60} has {entry.file_size} bytes, at most {MAX_PICKLE_BYTES} are read"
            )


def _unknown_type(file_name: str, name: str, found: str) -> CheckpointError:
    return CheckpointError(f"{file_name}: {name!r:.80} has type {found}, expected one of {', '.join(FLOATS.values())}")
