"""Files and folders on the app's machine that a visitor may open.

They are checkpoints, snapshots, and the records of training runs. Every path that a visitor types or selects is checked
here. With `HEADLIGHT_FOLDERS`, every visitor may open the contents of these folders, by their names in `listed_paths`,
and nothing else. Without it, only a visitor on this machine may type a path, any that the app can read: a refusal tells
names of files. Devices, named pipes and sockets are never opened: to read them may take forever.
"""

import os
import stat
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import streamlit as st

from viz_app.drawing.display_text import shortened
from viz_app.language import marked
from viz_app.session.environment import has_folders, is_private, model_folders
from viz_app.session.models import ModelError

LOOPBACK_ADDRESSES = ("127.0.0.1", "localhost", "::1")
PROXY_HEADERS = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP", "Via")
MOST_LISTED = 200
MOST_SHOWN = 200  # characters of a path in a message
IRREGULAR = marked("{path} is neither a file nor a folder: the app reads no device, named pipe or socket.")
AT_ONCE = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)  # flags that Windows does not have


def is_on_this_machine() -> bool:
    """Whether this visitor uses the machine that runs the app.

    That is so if the app is served to this machine only, and not through a proxy.
    """
    is_local = st.get_option("server.address") in LOOPBACK_ADDRESSES and is_private()
    return is_local and not any(name in st.context.headers for name in PROXY_HEADERS)


def may_type_path() -> bool:
    """Whether this visitor may open any path."""
    return not has_folders() and is_on_this_machine()


def listed_paths(suffixes: Sequence[str] | None = None) -> dict[str, Path]:
    """Return the contents of the folders of `HEADLIGHT_FOLDERS`, by name.

    Listed are folders, and files that begin as those that the app opens, or those of them with one of the suffixes.
    Links to a view may hold the names.
    """
    listed: dict[str, Path] = {}
    for folder in model_folders():
        for name, path in entries(folder).items():
            if path.is_dir() or _has_known_beginning(path, os.stat(path).st_mtime_ns):
                listed.setdefault(name if name not in listed else f"{folder.name}/{name}", path)
    kept = list(listed.items())[:MOST_LISTED]
    return {name: path for name, path in kept if suffixes is None or path.is_dir() or path.suffix.lower() in suffixes}


@lru_cache(maxsize=1024)  # the list is made in every run of a page
def _has_known_beginning(path: Path, _mtime_ns: int) -> bool:
    from core.formats.opening import is_openable

    return is_openable(path)


def entries(folder: Path) -> dict[str, Path]:
    """Return the folders and regular files of a folder by name, without links, in alphabetical order.

    Links that lead out of the folder are left out, and hidden entries. Empty if the folder cannot be read.
    """
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return {}
    paths, root = dict[str, Path](), _without_links(folder)
    for name in names:
        path = _without_links(folder / name)
        # A name that is not Unicode is not printable, and cannot be sent to a browser.
        if not name.startswith(".") and name.isprintable() and path.is_relative_to(root) and _is_openable(path):
            paths[name] = path
    return paths


def openable_path(text: str) -> Path:
    """Return the file or folder that a visitor has named, without links.

    Raises:
        ModelError: it does not exist, or this visitor may not open it, or it is neither a regular file nor a folder.
    """
    if not may_type_path():
        if (listed := listed_paths().get(text)) is None:
            raise ModelError("{name!r:.60} is none of the files and folders that this app offers.", name=text)
        return listed
    typed = text.strip().strip("\"'")
    if (folder := _hub_folder(typed)) is not None:
        return folder
    name = shortened(typed, MOST_SHOWN)
    try:
        path = Path(os.path.realpath(os.path.expanduser(typed)))
        str(path).encode()
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ModelError("There is no file or folder {path} on the machine that runs the app.", path=name) from error
    except PermissionError as error:
        raise ModelError("The app may not read {path}.", path=name) from error
    except (OSError, ValueError) as error:  # too long, a loop of links, a null character, not Unicode
        raise ModelError("{path!r:.60} is not a path on this machine.", path=text) from error
    if not typed:  # in quotation marks: the current folder
        raise ModelError("{path!r:.60} is not a path on this machine.", path=text)
    if not _is_file_or_folder(mode):
        raise ModelError(IRREGULAR, path=name)
    return path


def _hub_folder(name: str) -> Path | None:
    """Folder of a model of the Hugging Face Hub in the cache on this machine, None if it is not there."""
    from core.formats import hub

    return hub.cached(name).folder if hub.is_hub_name(name) and hub.is_cached(name) else None


def is_absent_hub_model(text: str) -> bool:
    """Whether a text is the name of a model of the Hugging Face Hub that this visitor may download."""
    from core.formats import hub

    return may_type_path() and hub.is_hub_name(text.strip()) and not hub.is_cached(text.strip())


def downloaded(name: str) -> Path:
    """Download a model of the Hugging Face Hub, and return its folder.

    Raises:
        ModelError: it cannot be downloaded, or this visitor may not do it.
    """
    from core.files.extras import MissingPackageError
    from core.formats import hub

    if not may_type_path():
        raise ModelError("{name!r:.60} is none of the files and folders that this app offers.", name=name)
    try:
        return hub.download(name.strip()).folder
    except (ValueError, MissingPackageError) as error:
        raise ModelError(str(error)) from error


def file_in(folder: Path, name: str) -> Path | None:
    """Return a regular file of a folder, without links; None if the folder has nothing of this name.

    Raises:
        ModelError: it is something else, or a link that leads out of the folder.
    """
    if not os.path.lexists(folder / name):
        return None
    path = _without_links(folder / name)
    if not path.is_relative_to(_without_links(folder)) or not os.path.isfile(path):
        raise ModelError(
            "{name} is not a regular file of the folder {folder}: the app follows no link out of a folder, and "
            "reads no device, named pipe or socket.",
            name=name,
            folder=folder.name,
        )
    return path


def file_beside(path: Path) -> Path | None:
    """As `file_in`, of a file beside a checkpoint; None if that was uploaded, and is in no folder."""
    return file_in(path.parent, path.name) if path.is_absolute() else None


def read(path: Path, most_bytes: int) -> bytes:
    """Return the contents of a regular file, which is no link.

    Raises:
        ModelError: it cannot be read, or is larger.
    """
    try:
        with open(path, "rb", opener=lambda each, flags: os.open(each, flags | AT_ONCE)) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ModelError(IRREGULAR, path=path.name)
            content = file.read(most_bytes + 1)
    except OSError as error:
        raise ModelError("{name} cannot be read ({error}).", name=path.name, error=error.strerror) from error
    if len(content) > most_bytes:
        raise ModelError(
            "{name} is larger than {most} MB, the most that is read.", name=path.name, most=most_bytes // 2**20
        )
    return content


def _without_links(path: Path) -> Path:
    return Path(os.path.realpath(path))  # unlike `Path.resolve`, it does not fail in a loop of links


def _is_openable(path: Path) -> bool:
    try:
        return _is_file_or_folder(os.stat(path).st_mode)
    except OSError:
        return False


def _is_file_or_folder(mode: int) -> bool:
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)
