"""Models, shared by all sessions.

A model that a visitor has opened is in memory as long as a session has it open (see `open_models`). The one that the
app starts with and the other shipped ones are in memory as long as there is room (see `model_memory`).
"""

import hashlib
import os
import stat
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, get_args

import streamlit as st

from viz_app.drawing.display_text import FULL_STOPS
from viz_app.language import marked, tr
from viz_app.session import model_memory
from viz_app.session.environment import CHECKPOINT_VARIABLE, PRECISION_VARIABLE
from viz_app.session.model_memory import Loaded, ModelError, SeveralModelsError

if TYPE_CHECKING:  # torch takes a second to import: the page is drawn before
    from core import Explanation, Translator
    from core.formats.progress import Progress
    from core.images.line_reader import LineReader
    from core.inference.device import Precision
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
        held: its content, which all sessions that use the same checkpoint share; None for a checkpoint of the
            operator, whose content is in memory as long as there is room.
        path: of its file or folder on this machine; the name of an uploaded one.
        is_imported: whether it is a checkpoint of another project.
    """

    name: str
    digest: str
    held: Loaded | None = field(compare=False)
    path: str = ""
    is_imported: bool = False

    @property
    def loaded(self) -> Loaded:
        """Its content, loaded again if there was no room for it.

        Raises:
            ModelError: it cannot be loaded again, which only those of the operator are.
        """
        return self.held or model_memory.kept((self.digest, precision()), self._load_again)

    def _load_again(self) -> "Translator":
        path = Path(self.path)
        with refusals(self.name):
            if _sha256(path) != self.digest:
                raise ModelError(tr("{name} has changed since it was opened: open it again.", name=self.name))
            return _own_translator(path)

    @property
    def translator(self) -> "Translator":
        """The model with its tokenizer.

        Raises:
            ModelError: there is only attention.
        """
        from core import Translator

        if not isinstance(content := self.loaded.content, Translator):
            raise ModelError(
                tr("{name} is attention without a model: open a checkpoint in the sidebar.", name=self.name)
            )
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

    @property
    def translates(self) -> bool:
        """Whether it translates one token after the other, as the models do that most pages are about."""
        return self.explanation is None and self.parser is None and self.line_reader is None and not self.mask_predicts

    @property
    def mask_predicts(self) -> bool:
        """Whether it predicts all tokens at once, by mask-predict."""
        return self.explanation is None and not self.translator.config.autoregressive

    def release(self) -> None:
        """Drop the content; this object cannot be used any more.

        Streamlit keeps the callbacks of all pages that a session has seen, and with them their readings, to its end.
        """
        vars(self).pop("held", None)


# For `st.cache_resource`: it hashes a model by its file, and a tuple, which may have many tokens, as one string.
MODEL_HASH: dict[str | type[Any], Callable[[Any], Any]] = {Model: lambda model: model.digest, tuple: repr}


def with_advice(reason: str) -> str:
    """Append advice on files that can be opened to a refusal of one that is not a checkpoint of Headlight."""
    reason = with_full_stop(reason)
    return f"{reason} {tr(OPENABLE)}" if "safetensors file" in reason and "Headlight opens" not in reason else reason


def with_full_stop(reason: str) -> str:
    """Return a reason with a full stop, so that a sentence can follow."""
    return reason if reason.endswith(FULL_STOPS) else f"{reason}."


def translation_checkpoint() -> Path:
    """Return the path of the shipped checkpoint that translates."""
    from core.files.shipped_files import shipped_checkpoint

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
    """Load the checkpoint of Headlight in a file that the operator of the app names.

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
    return _checked(path=str(path.absolute()), digest=digest, name=path.name)


def opened_model(paths: Sequence[Path], path: str, progress: "Progress | None" = None, chosen: str = "") -> Model:
    """Load a checkpoint of Headlight or of another project, or an array file; it may be hostile.

    Args:
        paths: a folder, a zip archive, or the files.
        path: of the model, see `Model`.
        progress: called with the share of the weights that has been read; not for a checkpoint of Headlight.
        chosen: the model to open of a folder or an archive with several, by its path there.

    Raises:
        SeveralModelsError: there are several, and none of them is chosen.
        ModelError: it is not a usable checkpoint, or there is not enough memory for it.
    """
    from core import Translator
    from core.export.attention_arrays import explanation_of_arrays, holds_arrays, load_arrays
    from core.files.process_memory import PROCESS, SMALLER
    from core.formats.importing import import_files
    from core.formats.opening import content_digest, own_file
    from core.formats.progress import reporting
    from core.formats.several_models import model_names
    from core.formats.source_files import open_source
    from core.inference.device import best_device

    name = paths[0].name if len(paths) == 1 else f"{len(paths)} files"
    if len(paths) == 1:
        with refusals(name):
            several = model_names(paths[0])
        if several and chosen not in several:
            message = tr("{name} holds {count} models: choose one of them.", name=name, count=len(several))
            raise SeveralModelsError(message, name, several)
        if several:
            name = PurePosixPath(chosen).name if chosen != "." else name
            paths = [paths[0] / chosen] if paths[0].is_dir() else paths
    if len(paths) == 1 and holds_arrays(arrays := paths[0]):
        with refusals(name):
            digest = _sha256(arrays)
            return Model(name, digest, _shared(digest, lambda: explanation_of_arrays(load_arrays(arrays))), path)
    with (
        refusals(name),
        open_source(paths, chosen) as files,
        PROCESS.reserved(2 * files.num_bytes, name, SMALLER),  # numbers of 16 bits become float32
    ):
        if (own := own_file(files)) is not None:
            digest = _sha256(own)
            return Model(name, digest, _shared(digest, lambda: _own_translator(own)), path)
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


@st.cache_resource(max_entries=16, show_spinner=False)
def _checked(path: str, digest: str, name: str) -> Model:
    """The model in a file of the operator, which has been loaded once."""
    model = Model(name, digest, None, str(Path(path).resolve()))
    _ = model.loaded
    return model


def _shared(digest: str, load: "Callable[[], Translator | Explanation]") -> "Loaded":
    """The content of a file that a visitor opens."""
    return model_memory.opened((digest, precision()), load)


def _own_translator(path: Path) -> "Translator":
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
            tr(
                "The environment variable {variable} is {value!r}: it must be one of {values}.",
                variable=PRECISION_VARIABLE,
                value=value,
                values=", ".join(get_args(Precision)),
            )
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
