"""Contents of models in memory, shared by all sessions.

A model that a visitor has opened is in memory as long as a session holds it. One that the operator offers is in memory
as long as there is room: the least recently used goes first, and is loaded again when it is needed.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

import streamlit as st

from viz_app.language import ToldError
from viz_app.session import environment

if TYPE_CHECKING:  # torch takes a second to import: the page is drawn before
    from core import Explanation, Translator
    from core.images.line_reader import LineReader
    from core.inference.device import Precision
    from core.parsing.parser import Parser

Key = tuple[str, "Precision"]  # digest of a model, and the precision of its search


class ModelError(ToldError):
    """There is no model to work with; the message, which the page shows, says why."""

    file: str = ""  # the uploaded file that is refused, or ""


class SeveralModelsError(ModelError):
    """A folder or an archive holds several models."""

    def __init__(self, message: str, source: str, models: Sequence[str]) -> None:
        """Take the name of the folder or archive, and the paths of the models in it."""
        super().__init__(message)
        self.source, self.models = source, tuple(models)


@dataclass(eq=False)
class Loaded:
    """The content of a model."""

    # a translator, or the explanation of an array file (`core.export.attention_arrays`)
    content: "Translator | Explanation"
    used: float = 0.0  # when it was used last, by `time.monotonic`

    @cached_property
    def parser(self) -> "Parser | None":
        """The parser of a translator that writes trees; None for another one."""
        from core import Translator
        from core.parsing.parser import NotAParserError, Parser

        assert isinstance(self.content, Translator)
        try:
            return Parser(self.content)
        except NotAParserError:
            return None

    @cached_property
    def line_reader(self) -> "LineReader | None":
        """The reader of a translator that takes image patches; None for another one."""
        from core import Translator
        from core.images.line_reader import LineReader, NotALineReaderError

        assert isinstance(self.content, Translator)
        try:
            return LineReader(self.content)
        except NotALineReaderError:
            return None


_in_memory: "WeakValueDictionary[Key, Translator | Explanation]" = WeakValueDictionary()
_kept: dict[Key, Loaded] = {}  # those of the operator
_room = threading.RLock()  # held while one of the two changes
_loading = threading.Lock()  # held while one of the operator is loaded


# Ends the session of who has been gone longest; returns whether there was one. Set by the server; `bool()`: none.
end_left_visitor: Callable[[], bool] = bool


def limit_memory() -> None:
    """Let models, their results and passes take the memory of the settings, and no more.

    Where it is short, results that are kept for later go first, then what visitors hold who have left, then the models
    of the operator, which are loaded again.
    """
    from core.files.budget import MIB
    from core.files.process_memory import PROCESS, default_limit

    megabytes = environment.memory_megabytes()
    PROCESS.limit = default_limit() if megabytes is None else megabytes * MIB
    PROCESS.reclaim = _drop_results, lambda: end_left_visitor(), _drop_offered


def _drop_results() -> bool:
    st.cache_resource.clear()
    return False


def _drop_offered() -> bool:
    with _room:
        if not _kept:
            return False
        del _kept[min(_kept, key=lambda key: _kept[key].used)]
    return True


def kept(key: Key, load: "Callable[[], Translator]") -> Loaded:
    """Return a content that the operator offers, loaded unless it is in memory.

    A search on a content that is dropped meanwhile ends as if it had stayed.

    Raises:
        ModelError: it cannot be loaded.
    """
    with _room:
        if key in _kept:
            return _kept[key]
    with _loading:
        if (content := _in_memory.get(key)) is None:
            content = load()
        with _room:
            return _kept.setdefault(key, Loaded(_in_memory.setdefault(key, content)))


def opened(key: Key, load: "Callable[[], Translator | Explanation]") -> Loaded:
    """Return a content that a visitor opens, loaded unless it is in memory.

    One that cannot be used is refused with its own reason, whether or not there is room.

    Raises:
        ModelError: it cannot be loaded.
        NoRoomError: there is not enough memory for it.
    """
    from core.files.process_memory import PROCESS

    if (content := _in_memory.get(key)) is None:
        content = load()
        PROCESS.make_room()
        with _room:
            content = _in_memory.setdefault(key, content)
    return Loaded(content)
