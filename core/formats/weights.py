"""Untrusted weights of other projects: safetensors, and PyTorch files under `weights_only`."""

import io
import math
import pickle
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

from core.files.budget import MAX_COPIES, MAX_PICKLE_BYTES, shown
from core.formats.checkpoint import ADVICE, CheckpointError, check_header
from core.formats.pickle_sizes import ForeignCallError, check_pickle
from core.formats.progress import advance
from core.formats.refused_formats import refuse_wrapper
from core.formats.source_files import archive_errors
from core.formats.untrusted_parameters import as_parameter
from core.model import Transformer
from core.model.half_precision import is_large

FLOATS = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16"}
ZIP_START = b"PK\3\4"
END_BYTES = 56 + 20 + 22  # of an archive: the end of a large one, the place of that, and the end of every archive
OLD_PICKLES = 5  # a number, the protocol's version, facts about the machine, the saved object, and keys of storages
_LOCK = threading.Lock()
_SAFETENSORS_TYPES = {name: dtype for dtype, name in FLOATS.items()}


@dataclass(frozen=True)
class Weights:
    """Tensors of a file, read only on request.

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
        """Parameters of a model by name, from the name of each in the file."""
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
        return [archive.read(entry) for entry in archive.infolist() if _is_pickle(entry)]


def _is_pickle(entry: zipfile.ZipInfo) -> bool:
    """Whether PyTorch, which ignores the case of names, might read an entry as a pickle."""
    return entry.orig_filename.lower().endswith(".pkl")


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
    refuse_wrapper(cast("Mapping[Any, Any]", state), file_name)
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
    """Tensors that have been read already, or mapped."""
    return Weights(
        file_name,
        {name: tuple(tensor.shape) for name, tensor in tensors.items()},
        {name: tensor.dtype for name, tensor in tensors.items()},
        tensors.__getitem__,
    )


def check_archive(path: Path, file_name: str) -> None:
    """Check that an archive of tensors is uncompressed, so that nothing in it unpacks to more."""
    with archive_errors(file_name), zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        if archive.start_dir != _declared_directory(path):
            raise CheckpointError(
                f"{file_name}: its directory is not where its end says, so that two programs could read two archives "
                f"in it: save it again"
            )
    size = path.stat().st_size
    for entry in entries:
        if entry.compress_type != zipfile.ZIP_STORED or entry.file_size > size:
            raise CheckpointError(
                f"{file_name}: {entry.filename!r:.60} is compressed or larger than the file, expected tensors "
                f"as they are in memory: save it again"
            )
        if _is_pickle(entry) and entry.file_size > MAX_PICKLE_BYTES:
            raise CheckpointError(
                f"{file_name}: {entry.filename!r:.60} has {entry.file_size} bytes, at most {MAX_PICKLE_BYTES} are read"
            )


def _declared_directory(path: Path) -> int:
    """Offset of the directory of an archive as its end declares it.

    PyTorch reads it there; `zipfile` looks just before the end.
    """
    with path.open("rb") as file:
        file.seek(-min(END_BYTES, path.stat().st_size), io.SEEK_END)
        end = file.read()
    if end[56:60] == b"PK\6\7":  # of a large one: its end is right before
        is_there = end[:4] == b"PK\6\6" and int.from_bytes(end[64:72], "little") == path.stat().st_size - END_BYTES
        return int.from_bytes(end[48:56], "little") if is_there else -1
    return int.from_bytes(end[-6:-2], "little") if end[-22:-18] == b"PK\5\6" else -1


def _unknown_type(file_name: str, name: str, dtype: str) -> CheckpointError:
    return CheckpointError(f"{file_name}: {name!r:.80} has type {dtype}, expected one of {', '.join(FLOATS.values())}")
