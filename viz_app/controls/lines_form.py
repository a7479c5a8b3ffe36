"""A file of sentences: the form that takes it, and the state of a session for what a job computes of it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import streamlit as st

from viz_app.controls.tables import selectable_table, show_table
from viz_app.language import marked, tr
from viz_app.session import readings
from viz_app.session.jobs import Job
from viz_app.session.models import Model
from viz_app.session.state import MayHoldModel, refusals_shown
from viz_app.session.uploaded_text import check_number, decoded

if TYPE_CHECKING:
    import pandas as pd

    from core.analysis.declaration import Columns
    from viz_app.components.sentence_bar import WordSelection

MAX_BYTES = 5 * 2**20
PASTED = marked("the text")
NOT_TEXT = marked(
    "{name} is not UTF-8 text: {error}. Upload a text file with one sentence per line, or a TSV file with a source and "
    "its translation per line"
)
BEAM_SIZE, LENGTH_PENALTY = 4, 0.6  # of the searches for translations, as in the paper (6.1)
L = TypeVar("L")


@dataclass
class LinesFile(MayHoldModel):
    """A file of sentences in a session."""

    name: str = ""  # of the file
    text: str = ""  # its content
    # that compute something of it, the first of them the one whose sentences can be opened
    models: tuple[Model, ...] = ()
    job: Job | None = None  # computes it

    def forget_model(self, digest: str) -> None:
        """Drop everything if it was computed by a model that is closed."""
        if self.job is not None and digest in (model.digest for model in self.models):
            self.job.close()
            vars(self).update(vars(type(self)()))

    @property
    def is_current(self) -> bool:
        """Whether sentences can be opened: the first model is the one of the page."""
        return bool(self.models) and self.models[0].digest == readings.model().digest

    def show(self, source: str, target: tuple[int, ...], words: "Iterable[WordSelection]" = ()) -> None:
        """Show a sentence with a given target and its selected words on all pages; call it in a callback."""
        search = readings.Search(source, num_hypotheses=1)
        readings.show_target(self.models[0], search, target, words)

    def table(
        self, table: "pd.DataFrame | Columns", key: str, on_row: Callable[[int], None], note: str, **options: Any
    ) -> None:
        """Draw a table whose rows open sentences, if they can be opened; the note says so in the visitor's language."""
        if self.is_current:
            st.caption(note)
            selectable_table(table, key, on_row, **options)
        else:
            st.caption(tr("Computed with another checkpoint than the current one: select that one to open rows."))
            show_table(table, **options)


@dataclass(frozen=True)
class LinesForm(Generic[L]):
    """A form for an uploaded file, or pasted lines."""

    key: str  # of its widgets, before `_file`, `_pasted` and `_submit`
    # label, submit and about: of the uploader, the button and the help, in English
    label: str
    submit: str
    about: str
    example: str
    command: str  # of `python -m core` that computes the same for larger files
    most: int  # largest number of sentences
    parse: Callable[[str], Sequence[L]]  # reads them; raises a ValueError

    def draw(
        self, note: str, begin: Callable[[str, str, Sequence[L]], None], above: Callable[[], object] | None = None
    ) -> None:
        """Draw the form; the page runs again when something was submitted that can be read.

        Args:
            begin: called with the name, the content and the sentences of what was submitted.
            above: draws more widgets of the form.
        """
        key, about = self.key, tr(self.about)
        with st.form(f"{key}_form", border=False):
            if above:
                above()
            left, right = st.columns(2, gap="large")
            file = left.file_uploader(tr(self.label), key=f"{key}_file", help=about, max_upload_size=MAX_BYTES // 2**20)
            pasted = right.text_area(
                tr("Or paste lines"),
                key=f"{key}_pasted",
                placeholder=self.example,
                height=100,
                help=about,
                persist_state="session",
            )
            with st.container(horizontal=True, vertical_alignment="center"):
                submitted = st.form_submit_button(tr(self.submit), key=f"{key}_submit")
                st.caption(note, width="content")
        if not submitted:
            return
        with refusals_shown():
            name, text = PASTED, pasted or ""
            if file is not None:
                name = file.name
                text = decoded(name, file.getvalue(), MAX_BYTES, self.command, NOT_TEXT)
            lines = self.parse(text)
            check_number(name, len(lines), self.most, self.command)
            begin(name, text, lines)
        st.rerun()
