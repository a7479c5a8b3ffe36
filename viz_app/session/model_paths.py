"""Checkpoints on the app's machine, and which a visitor may open by path.

With `HEADLIGHT_FOLDERS`, every visitor may open what these folders hold, and nothing else. Without it, only a visitor
on this machine may open a path, any that the app can read: a refusal tells names of files.
"""

from functools import lru_cache
from pathlib import Path

import streamlit as st

from viz_app.language import tr
from viz_app.session.environment import has_folders, is_private, model_folders
from viz_app.session.models import ModelError

LOOPBACK_ADDRESSES = ("127.0.0.1", "localhost", "::1")
PROXY_HEADERS = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP", "Via")
MOST_LISTED = 200


def may_type_path() -> bool:
    """Whether this visitor may open any path.

    Visitors may if the app is served to this machine only, and not through a proxy.
    """
    is_local = st.get_option("server.address") in LOOPBACK_ADDRESSES and is_private() and not has_folders()
    return is_local and not any(name in st.context.headers for name in PROXY_HEADERS)


def listed_paths() -> dict[str, Path]:
    """Return the contents of the folders of `HEADLIGHT_FOLDERS`, by name.

    Listed are folders, archives and checkpoints.
    """
    found: dict[str, Path] = {}
    for folder in model_folders():
        for path in sorted(_entries(folder)):
            target = path.resolve()
            is_offered = not path.name.startswith(".") and target.is_relative_to(folder)
            if is_offered and (target.is_dir() or _is_openable(target)):
                name = path.name if path.name not in found else f"{folder.name}/{path.name}"
                found.setdefault(name, target)
    return dict(list(found.items())[:MOST_LISTED])


def _is_openable(path: Path) -> bool:
    """Whether a file may be one that the app opens, by its beginning."""
    try:
        return path.is_file() and _has_known_beginning(path, path.stat().st_mtime_ns)
    except OSError:
        return False


@lru_cache(maxsize=1024)  # the list is made in every run of a page
def _has_known_beginning(path: Path, _mtime_ns: int) -> bool:
    from core.formats.opening import is_openable

    return is_openable(path)


def _entries(folder: Path) -> list[Path]:
    """Contents of a folder; nothing if it cannot be read any more."""
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def openable_path(text: str) -> Path:
    """Return the file or folder that a visitor has named.

    Raises:
        ModelError: it does not exist, or this visitor may not open it.
    """
    if may_type_path():
        path = Path(text.strip().strip("\"'")).expanduser()
        try:
            if path.exists():
                return path.resolve()
        except (OSError, ValueError) as error:  # too long, a null character
            raise ModelError(tr("{path!r:.60} is not a path on this machine.", path=text)) from error
        raise ModelError(tr("There is no file or folder {path} on the machine that runs the app.", path=path))
    if (listed := listed_paths().get(text)) is None:
        raise ModelError(tr("{name!r:.60} is not among the checkpoints that this app offers.", name=text))
    return listed
