"""Files of a history's snapshots, in a folder or in an archive: untrusted.

They are named `step-00001000.safetensors`, as `python -m train fit` names them. In a training of several runs, each
started from the checkpoint of the last, the number may be that of all steps.

Where `pack_history` wrote them, their names end in `.shuffled`: first the bytes of the file at even positions, then
those at odd positions (the shuffle filter of HDF5 and Blosc). That puts the high bytes of 16-bit weights, which have
few values, next to each other, and they compress: by the zip archive, or, in a folder, by gzip (`.shuffled.gz`),
where all but the first may be differences from the snapshot before (`.difference.gz`, `core.history.differences`). Or
they end in `.8bit`, and in `.8bit-difference` (`core.history.eight_bits`). The run's thinned `log.jsonl` lies beside
them.
"""

import gzip
import hashlib
import re
import tempfile
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path, PurePosixPath

from core.budget import MAX_PACKED, most_unpacked
from core.checkpoint import CheckpointError
from core.file_writing import writing
from core.formats.source_files import archive_errors, check_entries, open_source
from core.history.differences import restored
from core.history.eight_bits import RoundedSnapshot, read_eight_bits
from core.untrusted_parameters import ADVICE

SNAPSHOT = re.compile(
    r"(step-(\d{1,12})\.safetensors)(\.shuffled|\.shuffled\.gz|\.difference\.gz|\.8bit|\.8bit-difference)?"
)
SHUFFLED, COMPRESSED, COMPRESSED_DIFFERENCE = ".shuffled", ".shuffled.gz", ".difference.gz"
EIGHT_BITS, DIFFERENCE = ".8bit", ".8bit-difference"
LOG = "log.jsonl"
FOLDERS = ("history", "snapshots")  # of a run, in order of preference


class SnapshotFiles(ABC):
    """Files of a history by name.

    Attributes:
        label: name of the folder or archive.
        names: of the files.

    Args:
        num_bytes: of all files, as they are stored.
    """

    def __init__(self, label: str, names: Iterable[str], num_bytes: int) -> None:
        self.label, self.names = label, frozenset(names)
        self._num_bytes = num_bytes
        self._unpacked: dict[str, int] = {}  # bytes of the snapshots that have been read
        snapshots = {name: parts for name in self.names if (parts := SNAPSHOT.fullmatch(name)) is not None}
        self._suffixes: dict[str, str | None] = {name: parts[3] for name, parts in snapshots.items()}
        self._steps = {name: int(parts[2]) for name, parts in snapshots.items()}
        # The one read last, as the next one may be a difference from it.
        self._last_rounded: tuple[str, RoundedSnapshot | None] = "", None
        self._last_bytes: tuple[str, bytes | bytearray] = "", b""

    @abstractmethod
    def digest(self) -> str:
        """Return a digest that changes with the files."""
        ...

    @abstractmethod
    def stored(self, name: str) -> AbstractContextManager[Path]:
        """Return the path of a file as it is stored; it exists inside the block."""
        ...

    @contextmanager
    def opened(self, name: str) -> Generator[Path]:
        """Return the path of a file, of a snapshot as a checkpoint.

        It exists inside the block.
        """
        suffix = self._suffixes.get(name)
        if suffix is None:
            with self.stored(name) as path:
                yield path
            return
        with tempfile.TemporaryDirectory(prefix="headlight-") as folder:
            path = Path(folder) / _checkpoint_name(name)
            if suffix in (EIGHT_BITS, DIFFERENCE):
                self._rounded(name).write_checkpoint(path)
            else:
                data = self._checkpoint_bytes(name)
                with writing(path):
                    path.write_bytes(data)
            yield path

    def _before(self, name: str, suffixes: tuple[str, ...]) -> str:
        """The snapshot before one among those with some suffixes, or ""."""
        steps = {each: step for each, step in self._steps.items() if self._suffixes[each] in suffixes}
        return max((each for each in steps if steps[each] < steps[name]), key=steps.__getitem__, default="")

    def _checkpoint_bytes(self, name: str) -> bytes | bytearray:
        """Read a snapshot that is shuffled.

        If it is a difference, read the one before it too, unless that was read last.

        Raises:
            CheckpointError: it is damaged, too large, or the difference from another one.
        """
        last_name, data = self._last_bytes
        if last_name == name:
            return data
        is_difference = self._suffixes[name] == COMPRESSED_DIFFERENCE
        previous = self._before(name, (COMPRESSED, COMPRESSED_DIFFERENCE)) if is_difference else ""
        before = self._checkpoint_bytes(previous) if previous else b""
        try:
            with self.stored(name) as path, (gzip.open if name.endswith(".gz") else open)(path, "rb") as file:
                packed = file.read(self._most(name) + 1)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise CheckpointError(f"{self.label}: {name} is cut off or damaged: {ADVICE} ({error})") from error
        self.check_packed_size(name, len(packed))
        self._unpacked[name] = len(packed)
        data = unshuffled(packed)
        del packed
        if is_difference:
            try:
                data = restored(data, before)
            except ValueError as error:
                advice = "the folder or archive must have all snapshots that `python -m train history` wrote"
                raise CheckpointError(f"{self.label}: {name} {error}: {advice}") from error
        if COMPRESSED_DIFFERENCE in self._suffixes.values():
            self._last_bytes = name, data
        return data

    def check_packed_size(self, name: str, size: int) -> None:
        """Check the size of a snapshot that is shuffled or rounded.

        Raises:
            CheckpointError: it has too many bytes.
        """
        if self._suffixes.get(name) is None or size <= self._most(name):
            return
        if size > MAX_PACKED:
            raise CheckpointError(f"{self.label}: {name} has more than {MAX_PACKED} bytes, the most that is read")
        raise CheckpointError(
            f"{self.label} has {self._num_bytes} bytes, and its snapshots up to {name} would unpack to more than "
            f"{most_unpacked(self._num_bytes)}, the most that is read: weights do not compress as well as that"
        )

    def _most(self, name: str) -> int:
        """Bytes that a snapshot may unpack to, with all that have been read."""
        others = sum(size for each, size in self._unpacked.items() if each != name)
        return max(0, min(MAX_PACKED, most_unpacked(self._num_bytes) - others))

    def _rounded(self, name: str) -> RoundedSnapshot:
        """Read a snapshot in 8 bits.

        If it is a difference, read the one before it too, unless that was read last.

        Raises:
            CheckpointError: as `read_eight_bits`.
        """
        last_name, last = self._last_rounded
        if last is not None and last_name == name:
            return last
        previous = self._before(name, (EIGHT_BITS, DIFFERENCE))
        before = self._rounded(previous) if name.endswith(DIFFERENCE) and previous else None
        with self.stored(name) as path:
            self.check_packed_size(name, path.stat().st_size)
            found = read_eight_bits(path, before, _checkpoint_name(previous))
        self._last_rounded = name, found
        return found


class FolderFiles(SnapshotFiles):
    """A run's folder, or one of snapshots."""

    def __init__(self, path: Path) -> None:
        inner = [path / name for name in FOLDERS if (path / name).is_dir() and not (path / name).is_symlink()]
        self._paths: dict[str, Path] = {}
        for folder in (path, *reversed(inner)):  # the preferred one last
            with open_source([folder]) as files:
                found = {name: files.path(name) for name in files.names if name == LOG or SNAPSHOT.fullmatch(name)}
            if set(found) - {LOG}:
                self._paths = {name: file for name, file in self._paths.items() if name == LOG}
            self._paths |= found
        sizes = (file.stat().st_size for file in self._paths.values())
        super().__init__(path.resolve().name, self._paths, sum(sizes))

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
        super().__init__(path.name, self._entries, path.stat().st_size)

    def digest(self) -> str:
        with open(self._path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    @contextmanager
    def stored(self, name: str) -> Generator[Path]:
        entry = self._entries[name]
        self.check_packed_size(name, entry.file_size)
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


def shuffled(data: bytes) -> bytes:
    """Return the bytes at even positions, then those at odd positions."""
    return data[::2] + data[1::2]


def unshuffled(data: bytes) -> bytearray:
    """Undo `shuffled`."""
    found, view, half = bytearray(len(data)), memoryview(data), (len(data) + 1) // 2
    found[::2], found[1::2] = view[:half], view[half:]
    return found


def _checkpoint_name(name: str) -> str:
    """The name that a snapshot's file has when it is unpacked."""
    parts = SNAPSHOT.fullmatch(name)
    return parts[1] if parts else name
