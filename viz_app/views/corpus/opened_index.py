"""The index of the current model, which is beside its checkpoint, uploaded, or built here step by step."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from core.analysis.corpus.cli import translations_of
from core.analysis.corpus.collection import CorpusPass
from core.analysis.corpus.index import CorpusFacts, CorpusIndex
from core.analysis.corpus.index_file import SUFFIX, CorpusIndexError, index_beside, load_index, parse_index
from core.analysis.corpus.shown_examples import Tokens, index_tokens
from core.analysis.recorded_call import Call
from core.text.text_files import parse_lines
from viz_app.language import marked, tr
from viz_app.session import model_paths
from viz_app.session.address import CORPUS_INDEX
from viz_app.session.aligner_ranking import TextRankings
from viz_app.session.jobs import Job
from viz_app.session.models import MODEL_HASH, Model, ModelError
from viz_app.session.python_code import SAVED, given_path
from viz_app.session.state import MayHoldModel, session_object
from viz_app.session.uploaded_text import check_number, decoded

MAX_LINES = 2_000
MAX_BYTES = 2**20  # of an uploaded text
NOT_TEXT = marked("{name} is not UTF-8 text: {error}. Upload a text file with one sentence per line")
MAX_INDEX_BYTES = 2**26  # of an uploaded index
OWN_NAME = "own"  # in the address: the link is to an index that it does not include
BATCH_SIZE = 8  # sentences between two clicks

_numbers = itertools.count()


@dataclass(frozen=True)
class OpenedIndex:
    """An index of the current model."""

    index: CorpusIndex
    key: str  # different for every index and state of one, for caches
    path: Path | None = None  # of its file; None if it was uploaded or built here


@dataclass
class OwnIndex(MayHoldModel):
    """The visitor's own index."""

    digest: str = ""  # of the model
    opened: OpenedIndex | None = None  # the index, or its part that is built; None before the first batch
    job: Job | None = None  # builds it; None if it was uploaded
    _corpus: CorpusPass | None = None
    _facts: CorpusFacts | None = None

    def begin(self, model: Model, name: str, text: str) -> None:
        """Start to build an index.

        Raises:
            ValueError: there are no sentences, or too many, or as `parse_lines`.
        """
        lines = parse_lines(text)
        check_number(name, len(lines), MAX_LINES, "corpus")
        error_rates = session_object(TextRankings).error_rates(model)
        corpus = CorpusPass(model.translator, lines, error_rates=error_rates, batch_size=BATCH_SIZE)
        self.digest, self.opened, self._corpus = model.digest, None, corpus
        self._facts = CorpusFacts(model.name, model.digest, name, translations=translations_of(lines, 1))
        self.job = Job(self._steps(corpus), len(corpus.lines), marked("sentences"))

    def _steps(self, corpus: CorpusPass) -> Iterator[int]:
        for count in corpus.steps():
            self.opened = None
            yield count

    def open(self, model: Model, name: str, content: bytes) -> None:
        """Open an uploaded index, or build one of an uploaded text.

        Raises:
            ValueError: the file cannot be used; the message says why.
        """
        if name.endswith(".npz"):
            return self.upload(model, name, content)
        return self.begin(model, name, decoded(name, content, MAX_BYTES, "corpus", NOT_TEXT))

    def upload(self, model: Model, name: str, content: bytes) -> None:
        """Open an uploaded index.

        Raises:
            CorpusIndexError: it is not an index, or belongs to another model.
        """
        if len(content) > MAX_INDEX_BYTES:
            raise CorpusIndexError(tr("{name} is larger than {most} MB", name=name, most=MAX_INDEX_BYTES // 2**20))
        index = parse_index(content, name)
        check_model(index, name, model)
        self.digest, self.job, self._corpus = model.digest, None, None
        self.opened = OpenedIndex(index, f"own-{next(_numbers)}")

    def of(self, model: Model) -> OpenedIndex | None:
        """The index, as far as it is built, if it is of this model."""
        if self.digest != model.digest:
            return None
        if self.opened is None and self._corpus is not None and self._corpus.done and self._facts is not None:
            self.opened = OpenedIndex(self._corpus.index(self._facts), f"own-{next(_numbers)}")
        return self.opened

    def unfinished_job(self, model: Model) -> Job | None:
        """The job, if it is about this model and not at its end."""
        return self.job if self.job is not None and not self.job.finished and self.digest == model.digest else None

    def forget_model(self, digest: str) -> None:
        """Drop the job and the index of a model that is closed."""
        if self.digest == digest:
            if self.job is not None:
                self.job.close()
            self.digest, self.opened, self.job, self._corpus, self._facts = "", None, None, None, None


@st.cache_resource(max_entries=4, show_spinner=False)
def _read(path: str, mtime_ns: int, size: int) -> CorpusIndex:
    return load_index(path)


def check_model(index: CorpusIndex, name: str, model: Model) -> None:
    """Check that an index, in a file of a name, belongs to a model, or raise a `CorpusIndexError`."""
    if index.facts.digest != model.digest:
        raise CorpusIndexError(
            tr(
                "{name} is the index of another checkpoint, {other} ({other_digest}), this one is {model} ({digest}): "
                "build it again",
                name=name,
                other=index.facts.checkpoint,
                other_digest=index.facts.digest[:8],
                model=model.name,
                digest=model.digest[:8],
            )
        )


def opened_index(model: Model) -> tuple[OpenedIndex | None, str]:
    """Return the index of a model, the visitor's own first, and the reason if the one beside it cannot be used.

    The address says whether the visitor's own is shown.
    """
    own = session_object(OwnIndex).of(model)
    if own is not None:
        CORPUS_INDEX.take()
        CORPUS_INDEX.put(OWN_NAME)
        return own, ""
    try:
        if (path := model_paths.file_beside(index_beside(Path(model.path)))) is None:
            return None, ""
        stat = path.stat()
        index = _read(str(path), stat.st_mtime_ns, stat.st_size)
        check_model(index, path.name, model)
    except (ModelError, CorpusIndexError, OSError) as error:
        return None, str(error)
    return OpenedIndex(index, f"{path} {stat.st_mtime_ns} {stat.st_size}", path), ""


def is_missing(opened: OpenedIndex | None) -> bool:
    """Whether the address is for an index of its author's own."""
    return opened is None and OWN_NAME in CORPUS_INDEX.texts


@st.cache_resource(max_entries=4, show_spinner=False, hash_funcs={**MODEL_HASH, OpenedIndex: lambda each: each.key})
def sentence_tokens(model: Model, opened: OpenedIndex) -> Tokens:
    """Return the tokens of every sentence of an index: those of the source, and those fed to the decoder.

    Raises:
        ValueError: as `sides`.
    """
    return index_tokens(model.translator, opened.index)


def index_call(opened: OpenedIndex) -> Call:
    """Return the call that opens the index; one that is in no file yet must be saved before."""
    name = f"{opened.index.facts.checkpoint.removesuffix('.safetensors')}{SUFFIX}"
    path = given_path("path", opened.path or Path(Path(name).name), SAVED)
    return Call("index", load_index, (path,)).returning(opened.index)
