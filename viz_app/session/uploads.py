"""Uploaded files, which may be hostile, copied to temporary files and loaded as models."""

import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO

from viz_app.language import joined, marked, tr
from viz_app.session import environment
from viz_app.session.model_opening import opened_model
from viz_app.session.models import Model, ModelError

if TYPE_CHECKING:
    from core.formats.progress import Progress

MAX_UPLOAD_BYTES = environment.upload_megabytes() * 2**20  # of all files that come together
CHUNK_BYTES = 2**20
MAX_FILES = 1000
TOGETHER = "."  # path of a model in several files
MAX_NAME_BYTES = 255  # as most file systems have it
TOO_LARGE = marked("{name} is larger than {most} MB, the most that can be uploaded.")
TOO_LARGE_TOGETHER = marked(
    "{name}, with the files before it, is larger than {most} MB, the most that can be uploaded."
)

NamedFile = tuple[str, BinaryIO]


def uploaded_models(
    files: Sequence[NamedFile], progress: "Progress | None" = None, chosen: Mapping[str, str] | None = None
) -> tuple[list[Model], list[ModelError]]:
    """Load the models in files that came together; return those that can be used, and the refusals.

    Every archive, every checkpoint of Headlight and every array file is a model, all other files together are one. The
    files are copied to a temporary folder of bounded size, checked, loaded, and removed.

    Args:
        progress: as for `opened_model`.
        chosen: of archives with several models, the one to open, by the name of the archive.
    """
    from core.export.attention_arrays import holds_arrays
    from core.formats.opening import as_sources

    models: list[Model] = []
    refusals: list[ModelError] = []
    with tempfile.TemporaryDirectory(prefix="headlight-") as folder:
        try:
            paths = copies(files, Path(folder))
            arrays = [path for path in paths if holds_arrays(path)]
            sources = [*([path] for path in arrays), *as_sources([path for path in paths if path not in arrays])]
        except ModelError as error:
            return [], [error]
        for source in sources:
            path = source[0].name if len(source) == 1 else TOGETHER
            try:
                models.append(opened_model(source, path, progress, (chosen or {}).get(path, "")))
            except ModelError as error:
                error.file = path
                refusals.append(error)
    return models, refusals


def by_reason(refusals: Sequence[ModelError]) -> list[str]:
    """Return the reasons of refusals; one for all files that are refused for the same but for names and numbers."""
    files: dict[str, list[ModelError]] = {}
    for error in refusals:
        files.setdefault(re.sub(r"\d+", "0", str(error).replace(error.file, "")), []).append(error)
    return [
        str(same[0])
        if len(same) == 1
        else tr(
            "{count} files are refused for one reason: {names}. Of the first: {reason}",
            count=len(same),
            names=joined(error.file for error in same),
            reason=str(same[0]),
        )
        for same in files.values()
    ]


def copies(files: Sequence[NamedFile], folder: Path) -> list[Path]:
    """Copy files into folders of their own, under their names.

    Raises:
        ModelError: they are too many or too large, a name cannot be that of a file, or the disk is full.
    """
    if len(files) > MAX_FILES:
        raise ModelError(
            "These are {count} files, at most {most} are read: upload those of one checkpoint.",
            count=len(files),
            most=MAX_FILES,
        )
    size, paths = 0, list[Path]()
    for number, (name, file) in enumerate(files):
        path = folder / str(number) / _file_name(name)
        file.seek(0)
        try:
            path.parent.mkdir()
            with open(path, "wb") as copy:
                while chunk := file.read(CHUNK_BYTES):
                    size += len(chunk)
                    if size > MAX_UPLOAD_BYTES:
                        reason = TOO_LARGE if len(files) == 1 else TOO_LARGE_TOGETHER
                        raise ModelError(reason, name=path.name, most=MAX_UPLOAD_BYTES // 2**20)
                    copy.write(chunk)
        except OSError as error:
            raise ModelError(
                "{name} cannot be stored in {folder} ({error}): free disk space there, or start the app with "
                "TMPDIR set to another folder.",
                name=path.name,
                folder=folder.parent,
                error=error.strerror,
            ) from error
        paths.append(path)
    return paths


def _file_name(name: str) -> str:
    """The last part of an uploaded file's name."""
    last = PurePosixPath(name.replace("\\", "/")).name
    if not last.isprintable() or last in ("", "..") or len(last.encode()) > MAX_NAME_BYTES:  # a lone surrogate is not
        raise ModelError("{name!r:.60} cannot be the name of a file: rename it.", name=name)
    return last
