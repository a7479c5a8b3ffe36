"""Files that are written whole or not at all, and errors that name the file."""

import contextlib
import errno
import hashlib
import os
import secrets
from collections.abc import Callable, Generator
from pathlib import Path

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, None)  # None: other libraries raise errors without a number


class NotWrittenError(OSError):
    """A file could not be written; the message has its path, the reason, and what to do."""

    def __init__(self, path: Path, error: OSError) -> None:
        self.reason = error.strerror or str(error)
        advice = "free disk space, or give another path" if error.errno in NO_ROOM else "give another path"
        super().__init__(f"{path} cannot be written ({self.reason}): {advice}")
        self.errno = error.errno


@contextlib.contextmanager
def writing(path: Path) -> Generator[None]:
    """Turn an OSError of the system in the block, which writes to `path`, into a `NotWrittenError`.

    Readers of damaged files raise OSError, too: without a number, or with that of an invalid argument.
    """
    try:
        yield
    except OSError as error:
        if isinstance(error, NotWrittenError) or error.errno in (None, errno.EINVAL):
            raise
        raise NotWrittenError(path, error) from error


def kind_of(path: Path) -> str:
    """What is at a path where a file was expected, for a message."""
    return "a folder" if path.is_dir() else "not a regular file"


def refuse_device(path: Path) -> None:
    """Refuse a device that may have no end, such as /dev/zero; a pipe, a terminal and /dev/null have one.

    Raises:
        ValueError: the path is such a device.
    """
    if (path.is_char_device() or path.is_block_device()) and not path.samefile(os.devnull):
        with open(path, "rb") as file:
            if not file.isatty():
                raise ValueError(f"{path} is not a regular file: give a file or a pipe")


@contextlib.contextmanager
def reading(path: Path) -> Generator[None]:
    """Name the file in errors of reading it in the block.

    Raises:
        OSError: of the system, with the name.
        ValueError: the file is text, but not in UTF-8, or `refuse_device`.
    """
    refuse_device(path)
    try:
        yield
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 text ({error.reason} at byte {error.start}): convert it") from error
    except OSError as error:
        if error.filename is not None or error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file atomically: to a temporary name beside it, flushed, then renamed.

    Raises:
        NotWrittenError: it cannot be written; an older file is unchanged.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    with writing(path):
        try:
            temporary.touch(exist_ok=False)
            mode = temporary.stat().st_mode
            write(temporary)
            temporary.chmod(mode)  # `write` may have replaced it by a file with other permissions
            with open(temporary, "rb") as file:
                os.fsync(file.fileno())
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # not every file system can flush a folder
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def check_folder_of(path: Path) -> None:
    """Check, before long work, that the folder of a file to be written exists.

    Raises:
        ValueError: it does not.
    """
    if not path.parent.is_dir():
        raise ValueError(f"{path} cannot be written: there is no folder {path.parent}; create it, or give another path")


def write_text(path: Path, text: str) -> None:
    """Write text in UTF-8 atomically, see `write_atomically`."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file atomically, see `write_atomically`."""
    write_atomically(path, lambda temporary: temporary.write_bytes(content))


def file_digest(path: Path) -> str:
    """SHA-256 of a file in hexadecimal.

    Raises:
        OSError: it cannot be read.
    """
    with reading(path), open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
