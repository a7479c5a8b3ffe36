"""What the app remembers: the current model, translations and explanations, and what is selected."""

import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import streamlit as st

if TYPE_CHECKING:  # torch takes a second to import: the page is painted before it is asked for
    from core import Explanation, ScoredText, Translation, Translator

ROOT = Path(__file__).resolve().parents[1]
CHECKPOINT_VARIABLE = "HEADLIGHT_CHECKPOINT"  # names another checkpoint to start with
MAX_UPLOAD_BYTES = 400 * 2**20
CHUNK_BYTES = 2**20

# Where a session keeps things that are no widget's value.
READING = "reading"  # what the pages are about
WORD = "word"  # the selected word, everywhere
UPLOADED, REFUSED, SEEN, UPLOADS = "uploaded", "refused", "seen_upload", "uploads"
SELECTION_KEYS: tuple[str, ...] = ("heads",)  # what makes sense for one model only


@dataclass(frozen=True)
class Model:
    """A loaded checkpoint and what it is called.

    Attributes:
        name: of its file.
        digest: SHA-256 of its file, in hexadecimal; what everything computed with it is remembered by.
        translator: shared by all sessions that use the same file.
    """

    name: str
    digest: str
    translator: "Translator"


class ModelError(Exception):
    """There is no model to work with; the message says why, for the reader of the page."""


def shipped_path() -> Path:
    """The checkpoint that the app starts with."""
    return Path(os.environ.get(CHECKPOINT_VARIABLE) or ROOT / "checkpoints" / "en-de.safetensors")


def shipped_model() -> Model:
    """The model the app starts with.

    Raises:
        ModelError: there is no such file, or it is no checkpoint.
    """
    path = shipped_path()
    try:
        stat = path.stat()
        digest = _file_digest(str(path), stat.st_mtime_ns, stat.st_size)
    except OSError as error:
        raise ModelError(f"There is no checkpoint at `{path}`.") from error
    return Model(path.name, digest, _load(digest, path))


def uploaded_model(name: str, file: BinaryIO) -> Model:
    """The model in a file that anybody may have made: copied to a bounded temporary file, checked, loaded, and removed.

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
                    raise ModelError(f"{name} is larger than {MAX_UPLOAD_BYTES // 2**20} MB, the most that can be uploaded.")
                digest.update(chunk)
                copy.write(chunk)
        try:
            return Model(name, digest.hexdigest(), _load(digest.hexdigest(), path))
        except ModelError as error:
            raise ModelError(str(error).replace(path.name, name)) from error


@st.cache_resource(max_entries=16, show_spinner=False)
def _file_digest(path: str, _mtime_ns: int, _size: int) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@st.cache_resource(max_entries=3, show_spinner=False)
def _load(digest: str, _path: Path) -> "Translator":
    from core import CheckpointError, Translator

    try:
        return Translator.from_checkpoint(_path)
    except CheckpointError as error:
        raise ModelError(str(error)) from error
    except MemoryError as error:
        raise ModelError(f"{_path.name} needs more memory than this machine has left: close something, or use a smaller model.") from error
    except Exception as error:  # a hostile file must not take the page down, whatever it provokes
        raise ModelError(f"{_path.name} cannot be read ({type(error).__name__}): it is damaged, or was not made by Headlight.") from error


@st.cache_resource(max_entries=256, show_spinner=False)
def translation(
    digest: str, text: str, beam_size: int, length_penalty: float, num_hypotheses: int, _translator: "Translator"
) -> "Translation":
    """The translation of a text, remembered by the model's digest and the settings.

    Raises:
        ValueError: the text cannot be translated; the message says why.
    """
    return _translator.translate(text, beam_size=beam_size, length_penalty=length_penalty, num_hypotheses=num_hypotheses)


@st.cache_resource(max_entries=12, show_spinner=False)  # at 512 tokens one takes 150 MB
def explanation(digest: str, text: str, token_ids: tuple[int, ...], _translator: "Translator") -> "Explanation":
    """What every head looked at while the model put out these tokens."""
    return _translator.explain(text, token_ids)


@dataclass(frozen=True)
class Reading:
    """One sentence, its translations by one model, and the hypothesis that is looked at."""

    model: Model
    translation: "Translation"
    index: int  # of the hypothesis, 0 the best

    @property
    def hypothesis(self) -> "ScoredText":
        return self.translation.hypotheses[self.index]

    @property
    def explanation(self) -> "Explanation":
        """Of the hypothesis; computed when first asked for."""
        return explanation(self.model.digest, self.translation.source, self.hypothesis.token_ids, self.model.translator)


def reading() -> Reading | None:
    """What the pages are about; None when there is no sentence that can be translated."""
    return st.session_state.get(READING)
