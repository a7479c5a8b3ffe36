"""Untrusted weights of other projects.

safetensors, and PyTorch files under `weights_only`.
"""

import io
import math
import pickle
import re
import threading
import warnings
import zipfile
from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from core.budget import MAX_COPIES, MAX_PICKLE_BYTES, shown
from core.checkpoint import ADVICE, CheckpointError, check_header
from core.formats.pickle_sizes import check_tuples
from core.formats.progress import advance
from core.formats.source_files import archive_errors
from core.model import Transformer
from core.model.half_precision import is_large
from core.untrusted_parameters import as_parameter

FLOATS = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16"}
ZIP_START = b"PK\3\4"
OLD_PICKLES = 4  # a number, the version of the protocol, facts about the machine, and what was saved
_LOCK = threading.Lock()
_GLOBAL = re.compile(r"GLOBAL ([\w.]+)")  # in a message of PyTorch
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
    get: Callable[[str], Tensor]  # as stored; do not modify it

    def read(self, name: str, of_large_model: bool = False) -> Tensor:
        """A tensor as a parameter, see `as_parameter`."""
        advance(math.prod(self.shapes[name]), sum(map(math.prod, self.shapes.values())))
        return as_parameter(self.get(name), of_large_model)

    def read_all(self, model: Transformer, sources: Mapping[str, str]) -> dict[str, Tensor]:
        """Parameters of a model, from the name of each in the file."""
        large = is_large(model)
        return {ours: self.read(theirs, large) for ours, theirs in sources.items()}

    def equal(self, one: str, other: str) -> bool:
        """Whether the file has both tensors, of equal shape and equal elements."""
        return (
            self.shapes.get(one, one) == self.shapes.get(other, other)
            and self.dtypes[one] == self.dtypes[other]
            and torch.equal(self.get(one), self.get(other))
        )

    def types(self, names: Iterable[str]) -> list[str]:
        """Types of tensors, as safetensors names them."""
        return [FLOATS[self.dtypes[name]] for name in names]


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
    return weights_of(path, file_name, load_pytorch(path, file_name))


def load_pytorch(path: Path, file_name: str, inert: Collection[str] = ()) -> Any:
    """Contents of a PyTorch file, read under `weights_only`.

    Args:
        file_name: for messages.
        inert: full names of classes and functions that a file may have besides tensors and containers. Each call of
            one becomes an `Inert`; none is imported.

    Raises:
        CheckpointError: it is damaged, or needs more.
    """
    with path.open("rb") as file:  # PyTorch takes nothing else for an archive; what Python does depends on its version
        is_archive = file.read(len(ZIP_START)) == ZIP_START
    if is_archive:
        check_archive(path, file_name)
    _check_pickles(path, file_name, is_archive)
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
        raise CheckpointError(f"{file_name} is not a file of tensors alone, or damaged: {_reason(error)}") from error
    except Exception as error:  # PyTorch does not list them; damaged files raise a dozen
        raise CheckpointError(
            f"{file_name} is cut off, damaged or not a PyTorch file: {ADVICE} ({type(error).__name__}: {error})"
        ) from error


def _check_pickles(path: Path, file_name: str, is_archive: bool) -> None:
    """Check the pickles of an archive, or those that an older file begins with."""
    try:
        if is_archive:
            with archive_errors(file_name), zipfile.ZipFile(path) as archive:
                for entry in archive.infolist():
                    if entry.filename.endswith(".pkl"):
                        check_tuples(io.BytesIO(archive.read(entry)))
        else:
            with path.open("rb") as file:
                start = io.BytesIO(file.read(MAX_PICKLE_BYTES))
            for _ in range(OLD_PICKLES):
                check_tuples(start)
    except CheckpointError:
        raise
    except ValueError as error:
        raise CheckpointError(f"{file_name} is cut off, damaged or not a PyTorch file: {ADVICE} ({error})") from error


def _reason(error: pickle.UnpicklingError) -> str:
    """Why PyTorch refuses a pickle, and what to do.

    It takes the place of PyTorch's own advice, which is to allow everything.
    """
    if name := _GLOBAL.search(str(error)):
        return (
            f"it calls for {name[1]:.80}, and what is not a tensor could run code when it is read. Where you trust the "
            f"file, save its tensors alone: torch.save(model.state_dict(), FILE)"
        )
    return (
        f"Headlight unpickles nothing else; {ADVICE}, or save its tensors alone: torch.save(model.state_dict(), FILE)"
    )


class Inert:
    """Stands for an object of a class that is not imported.

    Attributes:
        state: of the object, {} if it is not a mapping.
    """

    state: Mapping[Any, Any] = MappingProxyType({})

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
            raise _unknown_type(file_name, name, f"{tensor.dtype}, {tensor.layout}, {tensor.device}")
        num_bytes += tensor.numel() * tensor.element_size()
        if num_bytes > MAX_COPIES * size:
            raise CheckpointError(
                f"{file_name}: its tensors up to {name!r:.80} have {num_bytes} bytes, the whole file {size}: it is "
                f"damaged, or made to fill the memory"
            )
        tensors[name] = tensor.detach()
    return in_memory(file_name, tensors)


def in_memory(file_name: str, tensors: Mapping[str, Tensor]) -> Weights:
    """Tensors that are read already, or mapped."""
    return Weights(
        file_name,
        {name: tuple(tensor.shape) for name, tensor in tensors.items()},
        {name: tensor.dtype for name, tensor in tensors.items()},
        tensors.__getitem__,
    )


def check_archive(path: Path, file_name: str) -> None:
    """Check that an archive of tensors is uncompressed.

    Then nothing in it unpacks to more.
    """
    with archive_errors(file_name), zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
    size = path.stat().st_size
    for entry in entries:
        if entry.compress_type != zipfile.ZIP_STORED or entry.file_size > size:
            raise CheckpointError(
                f"{file_name}: {entry.filename!r:.60} is compressed or larger than the file, expected tensors "
                f"as they are in memory: save it again"
            )
        if entry.filename.endswith(".pkl") and entry.file_size > MAX_PICKLE_BYTES:
            raise CheckpointError(
                f"{file_name}: {entry.filename!r:.60} has {entry.file_size} bytes, at most {MAX_PICKLE_BYTES} are read"
            )


def _unknown_type(file_name: str, name: str, found: str) -> CheckpointError:
    return CheckpointError(f"{file_name}: {name!r:.80} has type {found}, expected one of {', '.join(FLOATS.values())}")
