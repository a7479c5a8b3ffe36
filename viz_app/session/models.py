"""The model: the shipped checkpoint or an uploaded one, loaded for all sessions."""

import hashlib
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, get_args

import streamlit as st

from viz_app.session import environment
from viz_app.session.environment import CHECKPOINT_VARIABLE, PRECISION_VARIABLE

if TYPE_CHECKING:  # torch takes a second to import: the page is drawn before
    from core import Translator

ROOT = Path(__file__).resolve().parents[2]
OPENABLE = "Headlight opens its own .safetensors files, as python -m train writes them."  # advice after a refusal
MAX_UPLOAD_BYTES = environment.upload_megabytes() * 2**20
CHUNK_BYTES = 2**20


@dataclass(frozen=True)
class Model:
    """A loaded checkpoint.

    Attributes:
        name: of its file.
        digest: SHA-256 of its file, in hexadecimal; part of the key of every cached result.
        translator: shared by all sessions that use the same file.
        path: of its file on this machine; the name of an uploaded one.
    """

    name: str
    digest: str
    translator: "Translator"
    path: str = ""


# For `st.cache_resource`: it hashes a model by its file, and a tuple, which may have many tokens, as one string.
MODEL_HASH: dict[str | type[Any], Callable[[Any], Any]] = {Model: lambda model: model.digest, tuple: repr}


class ModelError(Exception):
    """There is no model to work with; the message, which the page shows, says why."""


def with_advice(reason: str) -> str:
    """Append to the reason why a file was refused which files can be opened, unless it says so itself."""
    reason = f"{reason.removesuffix('.')}."
    return reason if "Headlight opens" in reason else f"{reason} {OPENABLE}"


def translation_checkpoint() -> Path:
    """Return the path of the shipped checkpoint that translates."""
    from core.shipped import shipped_checkpoint

    return shipped_checkpoint()


def shipped_path() -> Path:
    """Return the path of the checkpoint that the app starts with."""
    return Path(os.environ.get(CHECKPOINT_VARIABLE) or translation_checkpoint())


def shipped_model() -> Model:
    """Return the model that the app starts with.

    Raises:
        ModelError: there is no such file, or it is not a checkpoint.
    """
    return model_at(shipped_path())


def model_at(path: Path) -> Model:
    """Load the model in a file on this machine.

    Raises:
        ModelError: there is no such file, or it is not a checkpoint.
    """
    try:
        stat = path.stat()
        digest = _file_digest(str(path), stat.st_mtime_ns, stat.st_size)
    except OSError as error:
        raise ModelError(f"There is no checkpoint to read at {path} ({error.strerror}).") from error
    return Model(path.name, digest, _load(digest, path), str(path.resolve()))


def uploaded_model(name: str, file: BinaryIO) -> Model:
    """Load the model in an untrusted file.

    The file is copied to a temporary file of bounded size, checked, loaded, and removed.

    Raises:
        ModelError: it is not a usable checkpoint.
    """
    name = Path(name).name
    digest = hashlib.sha256()
    with tempfile.TemporaryDirectory(prefix="headlight-") as folder:
        path = Path(folder) / "upload.safetensors"
        size = 0
        with open(path, "wb") as copy:
            while chunk := file.read(CHUNK_BYTES):
                size += len(chunk)
                if size > MAX_UPLOAD_BYTES:
                    raise ModelError(
                        f"{name} is larger than {MAX_UPLOAD_BYTES // 2**20} MB, the most that can be uploaded."
                    )
                digest.update(chunk)
                copy.write(chunk)
        try:
            return Model(name, digest.hexdigest(), _load(digest.hexdigest(), path), name)
        except ModelError as error:
            raise ModelError(str(error).replace(path.name, name)) from error


@st.cache_resource(max_entries=16, show_spinner=False)
def _file_digest(path: str, mtime_ns: int, size: int) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@st.cache_resource(max_entries=3, show_spinner=False)
def _load(digest: str, _path: Path) -> "Translator":
    from core import Translator
    from core.cpu_inference import Precision

    precision: Any = os.environ.get(PRECISION_VARIABLE) or "exact"
    if precision not in get_args(Precision):
        raise ModelError(
            f"The environment variable {PRECISION_VARIABLE} is {precision!r}: it must be one of "
            f"{', '.join(get_args(Precision))}."
        )
    try:
        return Translator.from_checkpoint(_path, precision=precision)
    except ValueError as error:  # a CheckpointError, or a device that is not available
        raise ModelError(str(error)) from error
    except MemoryError as error:
        raise ModelError(
            f"{_path.name} needs more memory than this machine has left: close other programs, or use a smaller model."
        ) from error
    except Exception as error:  # whatever a hostile file raises, the page goes on
        raise ModelError(
            f"{_path.name} cannot be read ({type(error).__name__}): it is damaged, or was not made by Headlight."
        ) from error
