"""Opening of another checkpoint in the sidebar: by upload, or by a path on the machine that runs the app."""

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx

from viz_app.drawing.display_text import plain, shortened
from viz_app.language import marked, tr
from viz_app.session import model_paths, uploads
from viz_app.session.model_memory import SeveralModelsError
from viz_app.session.model_opening import opened_model, with_advice, with_full_stop
from viz_app.session.models import Model, ModelError
from viz_app.session.open_models import OpenModels
from viz_app.session.state import session_object

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator
    from streamlit.runtime.uploaded_file_manager import UploadedFile

PROGRESS_DELAY = 0.4  # seconds before a progress bar is shown
ABOUT_DOWNLOAD = marked(
    "Fetches the files that are needed, into the cache of Hugging Face on this machine. Nothing is fetched without it."
)


@dataclass
class Opening:
    """Requests of the visitor to open a file."""

    read: tuple[str, ...] = ()  # ids of the uploaded files that were read last
    path: str = ""  # as typed or selected; "" once it has been read, so that a run that a click interrupts starts again
    refused: str = ""  # why something was refused last, or ""
    missing: str = ""  # name of a model of the Hugging Face Hub that was named and is not on this machine, or ""
    fetched: str = ""  # name of one that is to be downloaded, or ""
    number: int = 0  # of the widgets; new ones are empty
    last_path: str = ""
    # the models to choose from, by the name of the folder or archive that holds them
    several: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    chosen: dict[str, str] = field(default_factory=dict[str, str])  # the one to open of each, by the same name

    def choose(self, source: str, model: str) -> None:
        """Open one of several models; call it in a callback."""
        self.chosen[source] = model
        self.read, self.path = (), self.last_path


def open_requested(opening: Opening, files: "Sequence[UploadedFile]", problem: "DeltaGenerator") -> str:
    """Open the files in the uploader or named, and say what there is to say; after success the page runs again.

    Progress is shown in the place of problems. Returns why the last one was refused, or "".
    """
    ids = tuple(file.file_id for file in files)
    if not ids and opening.read:
        opening.read, opening.refused, opening.several = (), "", {}
    if ids != opening.read:
        new = [file for file in files if file.file_id not in opening.read]
        opened, refusals = _read(files, problem)
        if not opened and 0 < len(new) < len(files):  # files refused before may not belong to this model
            opened, _ = _read(new, problem)
            if not opened and len(refusals) == 1:
                advice = tr(
                    "The {count} files above were read as parts of one model: remove those that are not.",
                    count=len(files),
                )
                refusals = [*refusals, ModelError(advice)]
        if opened and opening.read:  # the visitor knows that the files before them were refused
            refusals = []
        opening.last_path = ""
        opening.read = ids  # after reading: if a click interrupts that, the next run starts again
        _finish(opening, opened, refusals, files)
    elif path := opening.path:
        opening.missing = path if model_paths.is_absent_hub_model(path) else ""
        with _reading(problem, path) as progress:
            opened, refusals = _opened(model_paths.openable_path, path, progress, opening.chosen)
        opening.path, opening.last_path = "", path
        _finish(opening, opened, refusals)
    elif name := opening.fetched:
        with _reading(problem, name) as progress:
            opened, refusals = _opened(model_paths.downloaded, name, progress, {})
        opening.fetched = ""
        _finish(opening, opened, refusals)
    if opening.missing:
        st.button(
            tr("Download {name} from the Hugging Face Hub", name=plain(shortened(opening.missing))),
            width="stretch",
            key="download_model",
            on_click=_fetch,
            help=tr(ABOUT_DOWNLOAD),
        )
    _choice_box(opening)
    return opening.refused


def _fetch() -> None:
    """Request the download of the model that is missing."""
    opening = session_object(Opening)
    opening.fetched, opening.missing, opening.refused = opening.missing, "", ""


def _choice_box(opening: Opening) -> None:
    """Ask which model of a folder or an archive with several is to be opened."""
    for source, names in opening.several.items():
        with st.container(key=f"several-{source}", gap="small"):
            name = plain(shortened(source))
            st.markdown(tr("{name} holds {count} models: choose one of them.", name=name, count=len(names)))
            for model in names:
                st.button(
                    plain(shortened(model)),
                    key=f"choose {source} {model}",
                    on_click=opening.choose,
                    args=(source, model),
                    width="stretch",
                )


def _read(files: "Sequence[UploadedFile]", problem: "DeltaGenerator") -> tuple[list[Model], list[ModelError]]:
    name = files[0].name if len(files) == 1 else tr("{count} files", count=len(files))
    with _reading(problem, name) as progress:
        chosen = session_object(Opening).chosen
        return uploads.uploaded_models([(file.name, file) for file in files], progress, chosen)


def _opened(
    find: Callable[[str], Path], typed: str, progress: Callable[[float], None], chosen: Mapping[str, str]
) -> tuple[list[Model], list[ModelError]]:
    """Open a file or folder; that of a commit in the cache of Hugging Face is named as the visitor has named it."""
    try:
        file = find(typed)
        model = opened_model([file], str(file), progress, chosen.get(file.name, ""))
    except ModelError as error:
        return [], [error]
    return [replace(model, name=typed.strip()) if file.parent.name == "snapshots" else model], []


def _finish(
    opening: Opening, opened: Sequence[Model], refusals: Sequence[ModelError], files: "Sequence[UploadedFile]" = ()
) -> None:
    """Keep the models open and show the last one; if there is one, the widgets are emptied."""
    opening.missing = "" if opened else opening.missing
    opening.several = {each.source: each.models for each in refusals if isinstance(each, SeveralModelsError)}
    opening.chosen = {}
    refused = [error for error in refusals if not isinstance(error, SeveralModelsError)]  # that is a question
    reasons = " ".join(map(with_full_stop, uploads.by_reason(refused)))
    opening.refused = with_advice(reasons) if refused else ""
    for model in opened:
        session_object(OpenModels).add(model)
    if opened:
        opening.number, opening.read, opening.last_path = opening.number + 1, (), ""
        _forget_files(files)
        st.rerun()


def _forget_files(files: "Sequence[UploadedFile]") -> None:
    """Free the memory of uploaded files, which Streamlit would keep to the end of the session."""
    context = get_script_run_ctx()
    if context is not None and isinstance(context.uploaded_file_mgr, MemoryUploadedFileManager):
        for file in files:
            context.uploaded_file_mgr.remove_file(context.session_id, file.file_id)


@contextmanager
def _reading(place: "DeltaGenerator", name: str) -> Generator[Callable[[float], None]]:
    """Show that something is being read and, once that takes longer, how much of it has been."""
    text = tr("Reading {name}", name=plain(shortened(name)))
    started = time.monotonic()
    with place, st.spinner(text):
        bar = st.empty()

        def progress(share: float) -> None:
            if time.monotonic() - started > PROGRESS_DELAY:
                bar.progress(share, tr("{share:.0%} of the weights", share=share))

        yield progress
        bar.empty()
