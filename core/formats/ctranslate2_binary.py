"""CTranslate2's `model.bin`: named variables with shapes and types, quantised ones with scales beside them.

The layout is that of `ModelSpec._serialize` of CTranslate2's Python package; versions 1 to 3 have the size of an
element in place of its type, and version 1 has no name of a specification. Integers are little-endian.
"""

import math
import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from core.files.budget import MAX_ARRAYS
from core.formats.checkpoint import ADVICE, CheckpointError
from core.formats.weights import FLOATS, Weights

VERSIONS = range(1, 7)
SPECIFICATIONS = (b"Transformer", b"Whisper", b"Wav2Vec2")  # begin the names of all
FIRST_NAMES = "transformer/"  # begins those of the variables of version 1
TYPES = (torch.float32, torch.int8, torch.int16, torch.int32, torch.float16, torch.bfloat16)  # by their number
TYPES_BY_SIZE = {4: torch.float32, 2: torch.int16, 1: torch.int8}  # until version 3
FIRST_WITH_ALIASES, FIRST_WITH_TYPES = 3, 4
MOST_DIMENSIONS = 4
SCALE = "_scale"  # ends the name of the scale of a quantised matrix: a number, or one for every row
OLD_SCALE = 1000.0  # of 16-bit matrices without a scale of their own
NAMES = {**FLOATS, torch.int8: "I8", torch.int16: "I16", torch.int32: "I32"}
# Parts of the names of OpenNMT-tf, which revision 1 has, and later ones; the first of each in a name is replaced.
_NEW_NAMES = (
    *((FIRST_NAMES, ""), (":0", ""), ("w_embs", "embeddings/weight"), ("kernel", "weight"), ("dense", "projection")),
    *(("LayerNorm", "layer_norm"), ("conv1d_", "linear_"), ("conv1d", "linear_0")),
    ("masked_multi_head", "self_attention"),
)


@dataclass(frozen=True)
class Variable:
    """A variable of a file, whose elements begin at the offset `start`."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    start: int


@dataclass(frozen=True)
class BinaryModel:
    """A `model.bin`, of which only names, shapes and types have been read."""

    file_name: str
    specification: str  # name of the class that describes the model, such as `TransformerSpec`
    revision: int  # of the specification
    variables: Mapping[str, Variable]  # by name; two names may have one variable
    content: mmap.mmap

    def stored(self, name: str) -> Tensor:
        """A variable as it is stored."""
        variable = self.variables[name]
        count = math.prod(variable.shape)
        if not count:
            return torch.empty(variable.shape, dtype=variable.dtype)
        data = bytearray(self.content[variable.start : variable.start + count * variable.dtype.itemsize])
        return torch.frombuffer(data, dtype=variable.dtype).view(variable.shape)

    def number(self, name: str, default: float) -> float:
        """Value of a variable that is a single number, such as an option."""
        if name not in self.variables:
            return default
        if self.variables[name].shape not in ((), (1,)):
            raise CheckpointError(
                f"{self.file_name}: {name!r:.80} has shape {list(self.variables[name].shape)}, expected a number"
            )
        value = float(self.stored(name).item())
        if not math.isfinite(value):
            raise CheckpointError(f"{self.file_name}: {name!r:.80} is {value}, expected a number: {ADVICE}")
        return value

    def option(self, stack: str, name: str, default: float) -> float:
        """An option of a stack, which until revision 4 was one of both stacks."""
        return self.number(f"{stack}/{name}", self.number(name, default))

    def values(self, name: str) -> Tensor:
        """A variable as floating-point numbers: integers are divided by their scale, as CTranslate2 does.

        Raises:
            CheckpointError: the scale has another shape.
        """
        stored = self.stored(name)
        if stored.dtype.is_floating_point:
            return stored
        scale = self.stored(name + SCALE).float() if name + SCALE in self.variables else torch.tensor(OLD_SCALE)
        if scale.dim() and scale.shape not in ((1,), stored.shape[:1]):
            raise CheckpointError(
                f"{self.file_name}: {name + SCALE!r:.80} has shape {list(scale.shape)}, expected a number, or one for "
                f"each of {stored.shape[0] if stored.dim() else 1} rows"
            )
        return stored.float() / (scale.view(-1, *(1,) * (stored.dim() - 1)) if scale.dim() else scale)

    def weights(self) -> Weights:
        """The variables as weights, dequantised on request; 32-bit integers and scales of others are left out."""
        names = [
            name
            for name, variable in self.variables.items()
            if variable.dtype != torch.int32
            and variable.shape
            and not (name.endswith(SCALE) and name.removesuffix(SCALE) in self.variables)
        ]
        dtypes = {name: self.variables[name].dtype for name in names}
        return Weights(
            self.file_name,
            {name: self.variables[name].shape for name in names},
            {name: dtype if dtype.is_floating_point else torch.float32 for name, dtype in dtypes.items()},
            self.values,
        )


class _Reader:
    """Numbers and texts of a file, one after the other."""

    def __init__(self, content: mmap.mmap, file_name: str) -> None:
        self.content, self.file_name, self.place = content, file_name, 0

    def skip(self, count: int) -> int:
        """Go on behind `count` bytes, and return where they begin."""
        start, self.place = self.place, self.place + count
        if self.place > len(self.content):
            raise CheckpointError(
                f"{self.file_name} ({len(self.content)} bytes) is cut off or damaged: {count} bytes were expected at "
                f"{start}; {ADVICE}"
            )
        return start

    def integer(self, kind: str) -> int:
        (value,) = struct.unpack_from("<" + kind, self.content, self.skip(struct.calcsize("<" + kind)))
        return value

    def text(self) -> str:
        """A text that ends with a NUL, which its length counts."""
        length = self.integer("H")
        start = self.skip(length)
        text = self.content[start : start + length]
        if not text.endswith(b"\0") or not text[:-1].isascii():
            raise CheckpointError(f"{self.file_name} is damaged: at {start} there is no name; {ADVICE}")
        return text[:-1].decode()


def begins_like_ctranslate2(start: bytes) -> bool:
    """Whether a file begins with a version and the name of a specification, given its first 64 bytes."""
    if len(start) < 8:
        return False
    version, length = struct.unpack_from("<IH", start)
    name = start[6 : 6 + length]
    if version == 1:  # followed by the number of variables
        return start[10:].startswith(FIRST_NAMES.encode())
    return 0 < version <= 32 and name.endswith(b"\0") and name[:-1].isalnum() and name.startswith(SPECIFICATIONS)


def read_binary(path: Path, file_name: str) -> BinaryModel:
    """Read names, shapes and types of the variables of a file.

    Raises:
        CheckpointError: it is damaged, or of an unknown version.
    """
    if not path.stat().st_size:
        raise CheckpointError(f"{file_name} is empty: {ADVICE}")
    with open(path, "rb") as file:
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    reader = _Reader(content, file_name)
    version = reader.integer("I")
    if version not in VERSIONS:
        raise CheckpointError(
            f"{file_name} is a model of CTranslate2 of version {version}, Headlight reads {VERSIONS.start} to "
            f"{VERSIONS.stop - 1}: convert the original model with CTranslate2 4"
        )
    specification, revision = ("TransformerBase", 1) if version == 1 else (reader.text(), reader.integer("I"))
    variables: dict[str, Variable] = {}
    for _ in range(_count(reader)):
        name = _new_name(reader.text()) if revision == 1 else reader.text()
        if name in variables:
            raise CheckpointError(f"{file_name} has the variable {name!r:.80} twice: {ADVICE}")
        variables[name] = _variable(reader, name, version)
    if version >= FIRST_WITH_ALIASES:
        for _ in range(_count(reader)):
            alias, name = reader.text(), reader.text()
            if name not in variables or alias in variables:
                raise CheckpointError(f"{file_name}: {alias!r:.80} is to be {name!r:.80}, which there is not; {ADVICE}")
            variables[alias] = variables[name]
            if name + SCALE in variables:
                variables[alias + SCALE] = variables[name + SCALE]
    if reader.place != len(content):
        raise CheckpointError(
            f"{file_name} has {len(content)} bytes, its variables end at {reader.place}: it is damaged; {ADVICE}"
        )
    return BinaryModel(file_name, specification, revision, variables, content)


def _new_name(name: str) -> str:
    """A name of revision 1 as later ones have it."""
    for part, later in _NEW_NAMES:
        name = name.replace(part, later, 1)
    return name.replace("multi_head", "self_attention" if "encoder" in name else "attention", 1)


def _count(reader: _Reader) -> int:
    count = reader.integer("I")
    if count > MAX_ARRAYS:
        raise CheckpointError(f"{reader.file_name} declares {count} variables, at most {MAX_ARRAYS} are read")
    return count


def _variable(reader: _Reader, name: str, version: int) -> Variable:
    dimensions = reader.integer("B")
    if dimensions > MOST_DIMENSIONS:
        raise CheckpointError(
            f"{reader.file_name}: {name!r:.80} has {dimensions} dimensions, at most {MOST_DIMENSIONS}"
        )
    shape = tuple(reader.integer("I") for _ in range(dimensions))
    code, size = reader.integer("B"), reader.integer("I")
    if version >= FIRST_WITH_TYPES:
        dtype = TYPES[code] if code < len(TYPES) else None
    else:
        dtype, size = TYPES_BY_SIZE.get(code), size * code
    if dtype is None or math.prod(shape) * dtype.itemsize != size:
        raise CheckpointError(
            f"{reader.file_name}: {name!r:.80} has type {code} and shape {list(shape)} in {size} bytes, which "
            f"do not fit each other: {ADVICE}"
        )
    return Variable(shape, dtype, reader.skip(size))
