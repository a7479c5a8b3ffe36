"""The folder of all temporary files of the server, which is removed with it.

A signal ends the process without the clean-up of Python, and with it threads that have copied an upload.
"""

import atexit
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

PREFIX = "headlight-server-"


class TemporaryFolder:
    """A new folder for the temporary files of this process.

    It is locked as long as the process lives, so that the next one removes it if this one is killed.
    """

    def __init__(self) -> None:
        self._before = tempfile.tempdir
        self.path, self._lock = _new()
        tempfile.tempdir = str(self.path)
        atexit.register(self.remove)

    def remove(self) -> None:
        """Remove the folder with everything in it."""
        tempfile.tempdir = self._before
        atexit.unregister(self.remove)
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def remove_leftovers() -> None:
    """Remove the folders of processes of this user that were killed."""
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):  # of another user, or gone
            if not path.is_symlink() and path.stat().st_uid == os.getuid() and (lock := _locked(path)) is not None:
                shutil.rmtree(path, ignore_errors=True)
                os.close(lock)


def _new() -> tuple[Path, int | None]:
    """Make a folder and lock it, and another one if a starting process has taken it for a leftover."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=PREFIX))
        with suppress(FileNotFoundError):
            lock = _locked(path)
            if path.exists():
                return path, lock


def _locked(folder: Path) -> int | None:
    """Lock a folder; None if a process has locked it, or the system has no such locks."""
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
