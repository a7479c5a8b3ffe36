"""Models, shared by all sessions.

They are the one that the app starts with, and those that visitors open. A model that a visitor has opened is in memory
as long as a session has it open (see `open_models`).
"""

import hashlib
import os
import stat
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args
from weakref import WeakValueDictionary

import streamlit as st

from viz_app.figures.display_text import FULL_STOPS
from viz_app.language import marked, tr
from viz_app.session import environment
from viz_app.session.environment import CHECKPOINT_VARIABLE, PRECISION_VARIABLE

if TYPE_CHECKING:  # torch takes a second to import: the page is drawn before
    from core import Explanation, Translator
    from core.cpu_inference import Precision
    from core.formats.progress import Progress
    from core.images.line_reader import LineReader
    from core.parsing.parser import Parser

ROOT = Path(__file__).resolve().parents[2]
OPENABLE = marked(  # advice after a refusal
    "Headlight opens its own .safetensors files, and models of other projects such as OPUS-MT, with all their files in "
    "a folder, in a zip archive or together: docs/formats.md lists the formats. It also opens attention that another "
    "program has computed, as an .npz file."
)


@dataclass(frozen=True)
class Model:
    """A loaded checkpoint, or attention that another program has computed.

    Attributes:
        name: of its file or folder.
        digest: SHA-256 in hexadecimal, of its file or, for a checkpoint of another project, of its contents (see
            `content_digest`); part of the key of every cached result.
        content: shared by all sessions that use the same checkpoint: its translator, or the explanation of an array
            file (`core.export.attention_arrays`), which has no model.
        path: of its file or folder on this machine; the name of an uploaded one.
        is_imported: whether it is a checkpoint of another project.
    """

    name: str
    digest: str
    content: "Translator | Explanation" = field(compare=False)
    path: str = ""
    is_imported: bool = False

    @property
    def translator(self) -> "Translator":
        """The model with its tokenizer.

        Raises:
            ModelError: there is only attention.
        """
        from core import Translator

        if not isinstance(self.content, Translator):
            raise ModelError(
                tr("{name} is attention without a model: open a checkpoint in the sidebar.", name=self.name)
            )
        return self.content

    @property
    def explanation(self) -> "Explanation | None":
        """The attention of an array file; None if there is a model."""
        from core import Explanation

        return self.content if isinstance(self.content, Explanation) else None

    @cached_property
    def parser(self) -> "Parser | None":
        """The parser of a model that writes trees; None for one that translates."""
        from core.parsing.parser import NotAParserError, Parser

        if self.explanation is not None:
            return None
        try:
            return Parser(self.translator)
        except NotAParserError:
            return None

    @cached_property
    def line_reader(self) -> "LineReader | None":
        """The reader of a model that takes image patches; None for one that takes text."""
        from core.images.line_reader import LineReader, NotALineReaderError

        if self.explanation is not None:
            return None
        try:
            return LineReader(self.translator)
        except NotALineReaderError:
            return None

    @property
    def translates(self) -> bool:
        """Whether it translates one token after the other.

        Most pages are about such a model.
        """
        return self.explanation is None and self.parser is None and self.line_reader is None and not self.mask_predicts

    @property
    def mask_predicts(self) -> bool:
        """Whether it predicts all tokens at once, by mask-predict."""
        return self.explanation is None and not self.translator.config.autoregressive

    def release(self) -> None:
        """Drop the content: this object cannot be used any more.

        Streamlit keeps the callbacks of all pages that a session has seen, and with them their readings, to its end.
        """
        for name in ("content", "parser", "line_reader"):
            vars(self).pop(name, None)


# For `st.cache_resource`: it hashes a model by its file, and a tuple, which may have many tokens, as one string.
MODEL_HASH: dict[str | type[Any], Callable[[Any], Any]] = {Model: lambda model: model.digest, tuple: repr}


class ModelError(Exception):
    """There is no model to work with; the message, which the page shows, says why."""


def with_advice(reason: str) -> str:
    """Append what can be opened to a refusal, unless it says so.

    The refused file is not a checkpoint of Headlight.
    """
    reason = with_full_stop(reason)
    return f"{reason} {tr(OPENABLE)}" if "safetensors file" in reason and "Headlight opens" not in reason else reason


def with_full_stop(reason: str) -> str:
    """Let a sentence follow a reason."""
    return reason if reason.endswith(FULL_STOPS) else f"{reason}."


def translation_checkpoint() -> Path:
    """Return the path of the shipped checkpoint that translates."""
    from core.shipped_files import shipped_checkpoint

    return shipped_checkpoint()


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
    """Load the checkpoint of Headlight in a file.

    The operator of the app names the file.

    Raises:
        ModelError: there is no such file, or it is not a checkpoint.
    """
    try:
        facts = path.stat()
        if not stat.S_ISREG(facts.st_mode):
            raise ModelError(tr("{path} is not a file: name a checkpoint of Headlight.", path=path))
        # By name: for an argument without one, Streamlit inspects the function's signature at every call.
        digest = _file_digest(path=str(path), mtime_ns=facts.st_mtime_ns, size=facts.st_size)
    except OSError as error:
        raise ModelError(
            tr("There is no checkpoint to read at {path} ({error}).", path=path, error=error.strerror)
        ) from error
    return _kept(path=str(path.absolute()), digest=digest, name=path.name)


def opened_model(paths: Sequence[Path], path: str, progress: "Progress | None" = None) -> Model:
    """Load a checkpoint or an array file, which may be hostile.

    The checkpoint is of Headlight or of another project.

    Args:
        paths: a folder, a zip archive, or the files.
        path: of the model, see `Model`.
        progress: called with the share of the weights that has been read; not for a checkpoint of Headlight.

    Raises:
        ModelError: it is not a usable checkpoint, or too many models are in memory.
    """
    from core import Translator
    from core.device import best_device
    from core.export.attention_arrays import explanation_of_arrays, holds_arrays, load_arrays
    from core.formats.importing import import_files
    from core.formats.opening import content_digest, own_file
    from core.formats.progress import reporting
    from core.formats.source_files import open_source

    name = paths[0].name if len(paths) == 1 else f"{len(paths)} files"
    if len(paths) == 1 and holds_arrays(arrays := paths[0]):
        with refusals(name):
            digest = _sha256(arrays)
            return Model(name, digest, _shared(digest, lambda: explanation_of_arrays(load_arrays(arrays))), path)
    with refusals(name), open_source(paths) as files:
        if (own := own_file(files)) is not None:
            digest = _sha256(own)
            return Model(name, digest, _shared(digest, lambda: _own_translator(own)), path)
        _require_room()
        with reporting(progress):
            checkpoint = import_files(files)
    with refusals(name):
        digest = content_digest(checkpoint)
        if len(paths) > 1 and all(languages := checkpoint.tokenizer.languages):
            name = f"{'-'.join(languages)} ({name})"

        def load() -> Translator:
            model = checkpoint.model.to(best_device())
            return Translator(model, checkpoint.tokenizer, checkpoint.training, precision())

        return Model(name, digest, _shared(digest, load), path, is_imported=True)


@st.cache_resource(max_entries=16, show_spinner=False)
def _file_digest(path: str, mtime_ns: int, size: int) -> str:
    return _sha256(Path(path))


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@st.cache_resource(max_entries=9, show_spinner=False)  # the shipped ones, and the one of HEADLIGHT_CHECKPOINT
def _kept(path: str, digest: str, name: str) -> Model:
    with refusals(name):
        content = _shared(digest, lambda: _own_translator(Path(path)), is_kept=True)
        return Model(name, digest, content, str(Path(path).resolve()))


def _own_translator(path: Path) -> "Translator":
    from core import Translator

    return Translator.from_checkpoint(path, precision=precision())


# Contents by digest and precision: models hold them, and sessions and `_kept` hold models.
_in_memory: "WeakValueDictionary[tuple[str, Precision], Translator | Explanation]" = WeakValueDictionary()


def _shared(
    digest: str, load: "Callable[[], Translator | Explanation]", is_kept: bool = False
) -> "Translator | Explanation":
    """The content of a checkpoint or an array file, loaded unless it is in memory.

    Args:
        is_kept: load it even if many models are in memory.
    """
    key = digest, precision()
    found = _in_memory.get(key)
    if found is None:
        if not is_kept:
            _require_room()
        found = _in_memory.setdefault(key, load())
    return found


def _require_room() -> None:
    """Check the number of models in memory before another one is loaded.

    Raises:
        ModelError: there are too many.
    """
    if len(_in_memory) >= (most := environment.most_models()):
        raise ModelError(
            tr(
                "{count} models are in memory, at most {most} are kept: close one first. The environment variable "
                "{variable} allows more.",
                count=len(_in_memory),
                most=most,
                variable=environment.MODELS_VARIABLE,
            )
        )


def precision() -> "Precision":
    """Precision of the search, from the environment.

    Raises:
        ModelError: there is no such precision.
    """
    from core.cpu_inference import Precision

    found: Any = os.environ.get(PRECISION_VARIABLE) or "exact"
    if found not in get_args(Precision):
        raise ModelError(
            tr(
                "The environment variable {variable} is {value!r}: it must be one of {values}.",
                variable=PRECISION_VARIABLE,
                value=found,
                values=", ".join(get_args(Precision)),
            )
        )
    return found


@contextmanager
def refusals(name: str) -> Generator[None]:
    """Turn every error inside the block into a `ModelError`.

    It is about the checkpoint of this name.
    """
    try:
        yield
    except (ModelError, ValueError) as error:  # a CheckpointError, or a device that is not available
        raise ModelError(str(error)) from error
    except MemoryError as error:
        raise ModelError(
            tr(
                "{name} needs more memory than this machine has left: close other programs, or use a smaller model.",
                name=name,
            )
        ) from error
    except OSError as error:
        raise ModelError(tr("{name} cannot be read ({error}).", name=name, error=error.strerror or error)) from error
    except Exception as error:  # whatever a hostile file raises, the page goes on
        raise ModelError(
            tr(
                "{name} cannot be read ({error}): it is damaged, or of no known format.",
                name=name,
                error=type(error).__name__,
            )
        ) from error
