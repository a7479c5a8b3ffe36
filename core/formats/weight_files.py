"""Untrusted files of weights of other projects: safetensors, and PyTorch's under `weights_only`."""

import io
import pickle
import threading
import warnings
import zipfile
from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from core.files.budget import MAX_COPIES, MAX_PICKLE_BYTES, shown
from core.formats.checkpoint import ADVICE, CheckpointError, check_header
from core.formats.pickle_sizes import ForeignCallError, check_pickle
from core.formats.source_files import archive_errors
from core.formats.tensor_archives import check_archive, is_pickle
from core.formats.weights import FLOATS, Weights, in_memory, unknown_type

ZIP_START = b"PK\3\4"
OLD_PICKLES = 5  # a number, the protocol's version, facts about the machine, the saved object, and keys of storages
_LOCK = threading.Lock()
_SAFETENSORS_TYPES = {name: dtype for dtype, name in FLOATS.items()}


@contextmanager
def open_weights(path: Path, file_name: str) -> Generator[Weights]:
    """Open a safetensors or PyTorch file, whichever it is.

    Raises:
        CheckpointError: it is neither, is damaged, needs more than tensors, or has tensors of another type.
    """
    with open(path, "rb") as file:
        start = file.read(9)
    if start[8:] == b"{":
        with _safetensors(path, file_name) as weights:
            yield weights
    else:
        yield weights_of(path, file_name, load_pytorch(path, file_name))


@contextmanager
def _safetensors(path: Path, file_name: str) -> Generator[Weights]:
    check_header(path)
    try:
        with safe_open(path, framework="pt") as file:
            slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
            for name, each in slices.items():
                if each.get_dtype() not in _SAFETENSORS_TYPES:
                    raise unknown_type(file_name, name, each.get_dtype())
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


def load_pytorch(path: Path, file_name: str, inert: Collection[str] = ()) -> Any:
    """Contents of a PyTorch file, read under `weights_only`, or raise an error if it is damaged or needs more.

    It may call classes and functions with the full names `inert`: each call becomes an `Inert`; none is imported.
    """
    with path.open("rb") as file:  # PyTorch's own test for an archive; Python's depends on its version
        is_archive = file.read(len(ZIP_START)) == ZIP_START
    if is_archive:
        check_archive(path, file_name)
    _check_pickles(path, file_name, is_archive, inert)
    try:
        # PyTorch's list of allowed names is one for all threads, and so is that of warnings: hence the lock.
        with (
            _LOCK,
            torch.serialization.safe_globals([(Inert, name) for name in inert]),
            warnings.catch_warnings(action="ignore"),  # such as of another pickle protocol
        ):
            # With `mmap` a storage cannot reach beyond the file, whatever size it declares.
            return torch.load(path, map_location="cpu", weights_only=True, mmap=is_archive)
    except pickle.UnpicklingError as error:
        raise CheckpointError(
            f"{file_name} is not a file of tensors alone, or damaged: Headlight unpickles nothing else; {ADVICE}, or "
            f"save its tensors alone: torch.save(model.state_dict(), FILE)"
        ) from error
    except Exception as error:  # PyTorch does not list them; damaged files raise a dozen
        raise CheckpointError(
            f"{file_name} is cut off, damaged or not a PyTorch file: {ADVICE} ({type(error).__name__}: {error})"
        ) from error


def _check_pickles(path: Path, file_name: str, is_archive: bool, inert: Collection[str]) -> None:
    """Check the pickles of an archive, or those at the start of an older file."""
    steps = 0
    try:
        if is_archive:
            for pickled in _pickles(path, file_name):
                steps = check_pickle(io.BytesIO(pickled), inert, steps)
        else:
            with path.open("rb") as file:
                start = io.BytesIO(file.read(MAX_PICKLE_BYTES))
            for _ in range(OLD_PICKLES):
                steps = check_pickle(start, inert, steps)
    except ForeignCallError as error:
        raise CheckpointError(
            f"{file_name} is not a file of tensors alone, or damaged: {error}, and what is not an ordinary tensor "
            f"could run code or fill the memory when it is read. Where you trust the file, save its tensors alone: "
            f"torch.save(model.state_dict(), FILE)"
        ) from error
    except CheckpointError:
        raise
    except ValueError as error:
        raise CheckpointError(f"{file_name} is cut off, damaged or not a PyTorch file: {ADVICE} ({error})") from error


def _pickles(path: Path, file_name: str) -> list[bytes]:
    with archive_errors(file_name), zipfile.ZipFile(path) as archive:
        return [archive.read(entry) for entry in archive.infolist() if is_pickle(entry)]


class Inert:
    """Stands for an object of a class that is not imported."""

    state: Mapping[Any, Any] = MappingProxyType({})  # of the object, {} if it is not a mapping

    def __init__(self, *_args: object) -> None:
        pass

    def __setstate__(self, state: object) -> None:
        self.state = cast("Mapping[Any, Any]", state) if isinstance(state, Mapping) else {}


def weights_of(path: Path, file_name: str, state: object) -> Weights:
    """Tensors by name, from the contents of a PyTorch file.

    Raises:
        CheckpointError: it is something else, or has tensors of another type, or of far more elements than the file.
    """
    if not isinstance(state, Mapping):
        raise CheckpointError(f"{file_name} holds a {type(state).__name__}, expected tensors by name")
    tensors: dict[str, Tensor] = {}
    num_bytes, size = 0, path.stat().st_size
    for name, tensor in cast("Mapping[Any, Any]", state).items():
        if not isinstance(name, str) or not isinstance(tensor, Tensor):
            raise CheckpointError(
                f"{file_name} holds a {type(tensor).__name__} under {shown(name)}, expected tensors by name"
            )
        if tensor.layout != torch.strided or tensor.device.type != "cpu" or tensor.dtype not in FLOATS:
            raise unknown_type(file_name, name, f"{tensor.dtype}, {tensor.layout}, {tensor.device}")
        num_bytes += tensor.numel() * tensor.element_size()
        if num_bytes > MAX_COPIES * size:
            raise CheckpointError(
                f"{file_name}: its tensors up to {name!r:.80} have {num_bytes} bytes, the whole file {size}: it is "
                f"damaged, or made to fill the memory"
            )
        tensors[name] = tensor.detach()
    return in_memory(file_name, tensors)
