"""Untrusted files of a history's snapshots, in a folder or in an archive.

They are named `step-00001000.safetensors`, as by `python -m train fit`. If training took several runs, each started
from the last checkpoint of the one before, the number may count the steps of all of them.

The names of files written by `pack_history` end in `.8bit`, or in `.8bit-difference` if they hold differences from the
snapshot before (`core.analysis.over_training.history.eight_bits`). The run's thinned `log.jsonl` lies beside them.
"""

import hashlib
import re
import tempfile
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path, PurePosixPath

from core.analysis.over_training.history.eight_bits import RoundedSnapshot, read_eight_bits
from core.files.budget import MAX_PACKED
from core.files.file_writing import file_digest, writing
from core.formats.checkpoint import CheckpointError
from core.formats.source_files import archive_errors, check_entries, open_source

SNAPSHOT = re.compile(r"(step-(\d{1,12})\.safetensors)(\.8bit|\.8bit-difference)?")
EIGHT_BITS, DIFFERENCE = ".8bit", ".8bit-difference"
LOG = "log.jsonl"
FOLDERS = ("history", "snapshots")  # of a run, in order of preference


class SnapshotFiles(ABC):
    """Files of a history by name.

    Attributes:
        label: name of the folder or archive.
        names: of the files.
    """

    def __init__(self, label: str, names: Iterable[str]) -> None:
        self.label, self.names = label, frozenset(names)
        snapshots = {name: parts for name in self.names if (parts := SNAPSHOT.fullmatch(name)) is not None}
        self._rounded_steps = {name: int(parts[2]) for name, parts in snapshots.items() if parts[3]}
        # The one read last, as the next one may be a difference from it.
        self._last_rounded: tuple[str, RoundedSnapshot | None] = "", None

    @abstractmethod
    def digest(self) -> str:
        """Return a digest that changes with the files."""

    @abstractmethod
    def stored(self, name: str) -> AbstractContextManager[Path]:
        """Return the path of a file as it is stored; it exists inside the block."""

    @contextmanager
    def opened(self, name: str) -> Generator[Path]:
        """Return the path of a file, of a snapshot as a checkpoint; it exists inside the block."""
        if name not in self._rounded_steps:
            with self.stored(name) as path:
                yield path
            return
        with tempfile.TemporaryDirectory(prefix="headlight-") as folder:
            path = Path(folder) / _checkpoint_name(name)
            self._rounded(name).write_checkpoint(path)
            yield path

    def _before(self, name: str) -> str:
        """The name of the rounded snapshot before one, or ""."""
        steps = self._rounded_steps
        return max((each for each in steps if steps[each] < steps[name]), key=steps.__getitem__, default="")

    def check_rounded_size(self, name: str, size: int) -> None:
        """Check the size of a snapshot in 8 bits.

        Raises:
            CheckpointError: it has too many bytes.
        """
        if name in self._rounded_steps and size > MAX_PACKED:
            raise CheckpointError(f"{self.label}: {name} has more than {MAX_PACKED} bytes, the most that is read")

    def _rounded(self, name: str) -> RoundedSnapshot:
        """Read a snapshot in 8 bits and, for a difference, the one before it, unless that was read last."""
        last_name, last = self._last_rounded
        if last is not None and last_name == name:
            return last
        previous = self._before(name)
        before = self._rounded(previous) if name.endswith(DIFFERENCE) and previous else None
        with self.stored(name) as path:
            self.check_rounded_size(name, path.stat().st_size)
            snapshot = read_eight_bits(path, before, _checkpoint_name(previous))
        self._last_rounded = name, snapshot
        return snapshot


class FolderFiles(SnapshotFiles):
    """A run's folder, or a folder of snapshots."""

    def __init__(self, path: Path) -> None:
        inner = [path / name for name in FOLDERS if (path / name).is_dir() and not (path / name).is_symlink()]
        self._paths: dict[str, Path] = {}
        for folder in (path, *reversed(inner)):  # the preferred one last
            with open_source([folder]) as files:
                paths = {name: files.path(name) for name in files.names if name == LOG or SNAPSHOT.fullmatch(name)}
            if set(paths) - {LOG}:
                self._paths = {name: file for name, file in self._paths.items() if name == LOG}
            self._paths |= paths
        super().__init__(path.resolve().name, self._paths)

    def digest(self) -> str:
        facts = sorted((str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in self._paths.values())
        return hashlib.sha256(repr(facts).encode()).hexdigest()

    @contextmanager
    def stored(self, name: str) -> Generator[Path]:
        yield self._paths[name]


class ArchiveFiles(SnapshotFiles):
    """A zip archive; an entry is unpacked into a temporary file while it is read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with self._open() as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            check_entries(path, entries)
        self._entries: dict[str, zipfile.ZipInfo] = {}
        for entry in entries:
            name = PurePosixPath(entry.filename).name
            if name in self._entries:
                raise CheckpointError(f"{path.name} has two files named {name!r:.60}: give the snapshots of one run")
            self._entries[name] = entry
        super().__init__(path.name, self._entries)

    def digest(self) -> str:
        return file_digest(self._path)

    @contextmanager
    def stored(self, name: str) -> Generator[Path]:
        entry = self._entries[name]
        self.check_rounded_size(name, entry.file_size)
        with tempfile.TemporaryDirectory(prefix="headlight-") as folder:
            path = Path(folder) / name
            with self._open() as archive, archive.open(entry) as packed, writing(path), open(path, "wb") as file:
                while block := packed.read(2**20):  # zipfile stops at the declared size
                    file.write(block)
            yield path

    @contextmanager
    def _open(self) -> Generator[zipfile.ZipFile]:
        with archive_errors(self._path.name), zipfile.ZipFile(self._path) as archive:
            yield archive


def _checkpoint_name(name: str) -> str:
    """The name that a snapshot's file has when it is unpacked."""
    parts = SNAPSHOT.fullmatch(name)
    return parts[1] if parts else name
