"""The training whose snapshots are shown: shipped, by path, or uploaded."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.analysis.over_training.history import History, open_history
from core.analysis.over_training.history.snapshot_files import FOLDERS
from viz_app.drawing.display_text import plain
from viz_app.language import marked, tr
from viz_app.session import address, model_paths, models, readings
from viz_app.session.model_opening import with_full_stop
from viz_app.session.models import ModelError
from viz_app.session.state import session_object
from viz_app.session.uploads import copies
from viz_app.views.models.path_box import link_note, path_box

SUFFIX = ".history.zip"  # of a shipped history, beside its checkpoint
FALLBACK = "multi30k"  # for a model without a shipped history
OTHER_MODEL = marked("These are snapshots of {name}, not of the current checkpoint, which comes with none.")
ADDRESS = address.HISTORY  # the name of an offered history
ABOUT_PATH = marked("""
A run's folder with snapshots, or a file of `python -m train history`. `python -m train fit PRESET --data DATA --run RUN
--history 12` keeps twelve snapshots of a run in RUN/history, more of them early than late, and `python -m train history
RUN -o FILE.zip` packs them into one file.
""")


@dataclass(frozen=True)
class OpenedTraining:
    """An opened history, and where it lies; a relative path is the name of an upload."""

    history: History
    path: Path


@dataclass
class Upload:
    """The uploaded history of a session."""

    read: str = ""  # id of the file that was read last
    training: OpenedTraining | None = None  # of the last file that was not refused, as long as the uploader has a file
    folder: "tempfile.TemporaryDirectory[str] | None" = None  # has a copy of that file
    refused: str = ""  # why the file that was read last was refused, or ""


@st.cache_resource(max_entries=4, show_spinner=False)
def _opened(path: str, stamp: tuple[int, ...]) -> History:
    return open_history(path)


def training_at(path: Path) -> OpenedTraining:
    """Open a history; it is opened again when its files have changed.

    Raises:
        ModelError: it cannot be used.
    """
    with st.spinner(tr("Opening the snapshots")), models.refusals(path.name):
        places = [each for each in (path, *(path / name for name in FOLDERS)) if each.exists()]
        stamp = tuple(each.stat().st_mtime_ns for each in places)
        return OpenedTraining(_opened(str(path), stamp), path)


def shipped_history(model: models.Model) -> Path | None:
    """Return the shipped history of a model's training, or else that of `FALLBACK`; None if neither is shipped."""
    checkpoints = models.shipped_paths()
    candidates = [path for path in checkpoints.values() if str(path) == model.path]
    candidates += [checkpoints[FALLBACK]] if FALLBACK in checkpoints else []
    return next((path for each in candidates if (path := each.with_suffix(SUFFIX)).exists()), None)


def _checkpoint_of(shipped: Path) -> Path:
    return shipped.with_name(shipped.name.removesuffix(SUFFIX) + ".safetensors")


def training_box(note: DeltaGenerator) -> OpenedTraining | None:
    """Select a training run; None, with the reason on the page, if there is none to show.

    An upload that is refused changes nothing but for the reason on the page. The note says if it is of another model.
    """
    model, upload = readings.model(), session_object(Upload)
    shipped = shipped_history(model)
    selected = _path_box(shipped)
    link_note(ADDRESS)
    problem, training = upload.refused, upload.training
    try:
        if selected:
            training = training_at(model_paths.openable_path(selected))
        elif training is None and shipped is not None:
            training = training_at(shipped)
            if str(_checkpoint_of(shipped)) != model.path:
                note.caption(tr(OTHER_MODEL, name=plain(_checkpoint_of(shipped).stem)))
    except ModelError as error:
        problem, training = str(error), None
    if problem and training:
        reason = plain(with_full_stop(problem))
        st.error(tr("{reason} {training} is still used.", reason=reason, training=plain(training.path.name)))
    elif problem:
        st.error(plain(problem))
    elif training is None:
        missing = tr("No snapshots of a training run are shipped with this copy of Headlight.")
        st.info(f"{missing} {plain(tr(ABOUT_PATH).strip())}")
    return training


def _path_box(shipped: Path | None) -> str:
    name = _checkpoint_of(shipped).stem if shipped else ""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        selected = path_box(
            tr("Training"),
            ADDRESS,
            model_paths.listed_paths(suffixes=(".zip",)),
            tr("that of the shipped {name}", name=name) if name else None,
            tr(ABOUT_PATH),
        )
        with st.popover(tr("Upload")):
            _upload_box()
    return selected


def _upload_box() -> None:
    upload = session_object(Upload)
    file = st.file_uploader(tr("A file of `python -m train history`"), key="history_upload", help=tr(ABOUT_PATH))
    if file is None:
        upload.read, upload.training, upload.folder, upload.refused = "", None, None, ""
    elif file.file_id != upload.read:
        upload.read, upload.refused = file.file_id, ""
        folder = tempfile.TemporaryDirectory(prefix="headlight-")
        try:
            (copy,) = copies([(file.name, file)], Path(folder.name))
            with models.refusals(copy.name):
                upload.training, upload.folder = OpenedTraining(open_history(copy), Path(copy.name)), folder
        except ModelError as error:
            upload.refused = str(error)
