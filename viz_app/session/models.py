"""Models, shared by all sessions.

A model that a visitor has opened is in memory as long as a session has it open (see `open_models`). The one that the
app starts with and the other shipped ones are in memory as long as there is room (see `model_memory`).
"""

import os
import stat
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, get_args
from weakref import WeakValueDictionary

import streamlit as st

from viz_app.drawing.display_text import plain
from viz_app.language import tr
from viz_app.page_list import ModelKind
from viz_app.session import model_memory
from viz_app.session.environment import CHECKPOINT_VARIABLE, PRECISION_VARIABLE
from viz_app.session.model_memory import Loaded, ModelError

if TYPE_CHECKING:  # torch takes a second to import: the page is drawn before
    from core import Explanation, Translator
    from core.images.line_reader import LineReader
    from core.inference.device import Precision
    from core.parsing.parser import Parser

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Model:
    """A loaded checkpoint, or attention that another program has computed."""

    name: str  # of its file or folder
    # SHA-256 in hexadecimal, of its file or, for a checkpoint of another project, of its contents (see
    # `content_digest`); part of the key of every cached result
    digest: str
    # its content, which all sessions that use the same checkpoint share; None for a checkpoint of the operator, whose
    # content is in memory as long as there is room
    held: Loaded | None = field(compare=False)
    path: str = ""  # of its file or folder on this machine; the name of an uploaded one
    is_imported: bool = False  # whether it is a checkpoint of another project

    @property
    def loaded(self) -> Loaded:
        """Its content, loaded again if there was no room for it.

        Raises:
            ModelError: it cannot be loaded again, which only those of the operator are.
        """
        key = self.digest, precision()
        loaded = self.held or self._lately.get(key)
        if loaded is None:
            loaded = self._lately[key] = model_memory.kept(key, self._load_again)
        loaded.used = monotonic()
        return loaded

    @cached_property
    def _lately(self) -> "WeakValueDictionary[model_memory.Key, Loaded]":
        """The content while it is in memory, as a page needs it hundreds of times a run."""
        return WeakValueDictionary()

    def _load_again(self) -> "Translator":
        from core.files.file_writing import file_digest

        path = Path(self.path)
        with refusals(self.name):
            if file_digest(path) != self.digest:
                raise ModelError("{name} has changed since it was opened: open it again.", name=self.name)
            return own_translator(path)

    @property
    def translator(self) -> "Translator":
        """The model with its tokenizer.

        Raises:
            ModelError: there is only attention.
        """
        from core import Translator

        if not isinstance(content := self.loaded.content, Translator):
            raise ModelError("{name} is attention without a model: open a checkpoint in the sidebar.", name=self.name)
        return content

    @property
    def explanation(self) -> "Explanation | None":
        """The attention of an array file; None if there is a model."""
        from core import Explanation

        content = self.held and self.held.content
        return content if isinstance(content, Explanation) else None

    @property
    def parser(self) -> "Parser | None":
        """The parser of a model that writes trees; None for one that translates."""
        return None if self.explanation else self.loaded.parser

    @property
    def line_reader(self) -> "LineReader | None":
        """The reader of a model that takes image patches; None for one that takes text."""
        return None if self.explanation else self.loaded.line_reader

    @cached_property
    def kind(self) -> ModelKind:
        """What it is, for the list of the pages."""
        if self.explanation is not None:
            return "attention"
        if self.line_reader is not None:
            return "pictures"
        if not self.translator.config.autoregressive:
            return "mask-predict"
        return "translation" if self.parser is None else "parser"

    def release(self) -> None:
        """Drop the content; this object cannot be used any more.

        Streamlit keeps the callbacks of all pages that a session has seen, and with them their readings, to its end.
        """
        vars(self).pop("held", None)


# For `st.cache_resource`: it hashes a model by its file, and a tuple, which may have many tokens, as one string.
MODEL_HASH: dict[str | type[Any], Callable[[Any], Any]] = {Model: lambda model: model.digest, tuple: repr}


def translation_checkpoint() -> Path:
    """Return the path of the shipped checkpoint that translates."""
    from core.files.shipped_files import shipped_checkpoint

    return shipped_checkpoint()


def not_installed(path: Path, reason: str) -> str:
    """Return a reason, and where a shipped model is that would help, if this installation lacks it."""
    if path.exists():
        return reason
    shipped = tr(
        "The shipped model {model} is not in this installation: `HEADLIGHT_SHARE` can name the folder of a release or "
        "a clone, which has it.",
        model=plain(path.stem),
    )
    return f"{reason} {shipped}"


def shipped_paths() -> dict[str, Path]:
    """Return the paths of all shipped checkpoints by name."""
    folder = translation_checkpoint().parent
    # `Path.resolve` would take twice as long, in every run of a page.
    return {path.stem: Path(os.path.realpath(path)) for path in sorted(folder.glob("*.safetensors"))}


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
    """Load the checkpoint of Headlight in a file that the operator of the app names.

    Raises:
        ModelError: there is no such file, or it is not a checkpoint.
    """
    try:
        facts = path.stat()
        if not stat.S_ISREG(facts.st_mode):
            raise ModelError("{path} is not a file: name a checkpoint of Headlight.", path=path)
        # By name: for an argument without one, Streamlit inspects the function's signature at every call.
        digest = _file_digest(path=str(path), mtime_ns=facts.st_mtime_ns, size=facts.st_size)
    except OSError as error:
        raise ModelError(
            "There is no checkpoint to read at {path} ({error}).", path=path, error=error.strerror
        ) from error
    return _checked(path=str(path.absolute()), digest=digest, name=path.name)


@st.cache_resource(max_entries=16, show_spinner=False)
def _file_digest(path: str, mtime_ns: int, size: int) -> str:
    from core.files.file_writing import file_digest

    return file_digest(Path(path))


@st.cache_resource(max_entries=16, show_spinner=False)
def _checked(path: str, digest: str, name: str) -> Model:
    """The model in a file of the operator, which has been loaded once."""
    model = Model(name, digest, None, str(Path(path).resolve()))
    _ = model.loaded
    return model


def own_translator(path: Path) -> "Translator":
    """Load a checkpoint of Headlight."""
    from core import Translator

    return Translator.from_checkpoint(path, precision=precision())


def precision() -> "Precision":
    """Precision of the search, from the environment.

    Raises:
        ModelError: there is no such precision.
    """
    from core.inference.device import Precision

    value: Any = os.environ.get(PRECISION_VARIABLE) or "exact"
    if value not in get_args(Precision):
        raise ModelError(
            "The environment variable {variable} is {value!r}: it must be one of {values}.",
            variable=PRECISION_VARIABLE,
            value=value,
            values=", ".join(get_args(Precision)),
        )
    return value


@contextmanager
def refusals(name: str) -> Generator[None]:
    """Turn every error inside the block into a `ModelError` about the checkpoint of this name."""
    try:
        yield
    except (ModelError, ValueError) as error:  # a CheckpointError, or a device that is not available
        raise ModelError(str(error)) from error
    except MemoryError as error:
        raise ModelError(
            "{name} needs more memory than this machine has left: close other programs, or use a smaller model.",
            name=name,
        ) from error
    except OSError as error:
        raise ModelError("{name} cannot be read ({error}).", name=name, error=error.strerror or error) from error
    except Exception as error:  # whatever a hostile file raises, the page goes on
        raise ModelError(
            "{name} cannot be read ({error}): it is damaged, or of no known format.",
            name=name,
            error=type(error).__name__,
        ) from error
