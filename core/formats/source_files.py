"""Untrusted files of a checkpoint in a folder, in a zip archive, or given one by one."""

import errno
import shutil
import stat
import tempfile
import zipfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from core.files.argument_types import items, path_of
from core.files.budget import MAX_ENTRIES, MAX_SMALL_FILE, check_unpacked
from core.files.damaged_archives import DAMAGE
from core.files.file_writing import kind_of, reading, writing
from core.formats.checkpoint import ADVICE, CheckpointError
from core.formats.refused_files import refuse_file
from core.text.text_files import NotTextError, require_utf8

if TYPE_CHECKING:
    from torch import Tensor

MAX_NAME_BYTES = 255  # of a file
BLOCK_BYTES = 2**20
INNER_FOLDER, INNER_FILE = "model", "model.bin"  # a folder whose files are read with those around it, and one of them
COMPRESSIBLE = (".json", ".jsonl", ".txt", ".vocab", ".spm", ".model", ".yml", ".8bit-difference")
TRAINED, DICTIONARIES = "checkpoints", "data-bin"  # folders of a training by fairseq: parameters, dictionaries
OTHER_FOLDER = "stanza"  # of an Argos package: models of another program, which split texts into sentences


class SourceFiles:
    """Files by name, without folders.

    Attributes:
        label: name of the source, for messages.
        names: of the files.
        tokenized: texts will be given as pieces with spaces between, so that no file is needed to split them.
        tensors: of a model in memory, which are in no file; None for a source of files alone.
    """

    def __init__(
        self,
        label: str,
        paths: Mapping[str, Path],
        contents: Mapping[str, bytes] | None = None,
        tensors: "Mapping[str, Tensor] | None" = None,
    ) -> None:
        """Take paths by name, and the contents of further files that are in memory only."""
        self.label = label
        self.tokenized = False
        self.tensors = tensors
        self.folders: frozenset[str] = frozenset()
        self._paths = paths
        self._contents = contents or {}
        self.names = frozenset({*paths, *self._contents})

    def with_content(self, name: str, content: bytes, tensors: "Mapping[str, Tensor] | None" = None) -> "SourceFiles":
        """The same files, one of them with other contents, and with other tensors if they are given."""
        return SourceFiles(self.label, self._paths, {**self._contents, name: content}, tensors or self.tensors)

    @property
    def num_bytes(self) -> int:
        """Bytes of all files."""
        return sum(path.stat().st_size for path in self._paths.values())

    def path(self, name: str) -> Path:
        """Path of a file, for readers that need one.

        Raises:
            CheckpointError: see `refuse_file`.
        """
        refuse_file(self._paths[name], name)
        return self._paths[name]

    def located(self, name: str) -> Path:
        """Path of a file that may be anything."""
        return self._paths[name]

    def read(self, name: str, limit: int = MAX_SMALL_FILE) -> bytes:
        """Contents of a file.

        Raises:
            CheckpointError: it has more bytes than the limit; or see `refuse_file`.
        """
        if name in self._contents:
            return self._contents[name]
        refuse_file(self._paths[name], name)
        size = self._paths[name].stat().st_size
        if size > limit:
            raise CheckpointError(f"{self.label}: {name} has {size} bytes, at most {limit} are read")
        with reading(self._paths[name]), open(self._paths[name], "rb") as file:
            return file.read(limit)

    def text(self, name: str) -> str:
        """Contents of a text file, without its byte-order mark.

        Raises:
            CheckpointError: as `read`, or it is not UTF-8.
        """
        content = self.read(name)
        try:
            require_utf8(content, name)
            return content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise CheckpointError(f"{self.label}: {name} is not UTF-8: {error}") from error
        except NotTextError as error:
            raise CheckpointError(f"{self.label}: {error}") from error


@contextmanager
def open_source(paths: Sequence[str | Path], model: str = "") -> Generator[SourceFiles]:
    """Open a folder, a zip archive, a model in it (see `several_models.model_names`), or files given one by one.

    An archive, also one that is alone in its folder, is unpacked into a temporary folder, which is removed at the end.

    Raises:
        CheckpointError: a link leads out of the folder, an archive is damaged, would unpack to far more than its own
            size, or has names that lead out of it; or there are too many files, or two of one name.
        FileNotFoundError: there is no such file.
        NotWrittenError: the temporary folder is full.
    """
    given = [*map(path_of, items("the paths", paths, "the path of a folder or an archive, or a list of files"))]
    for path in given:
        if not path.exists():
            raise FileNotFoundError(f"there is no {path}: give a folder, a zip archive, or the files of a checkpoint")
    if len(given) == 1 and given[0].is_dir():
        label, inside = given[0].resolve().name, _folder(given[0])
        if len(inside) != 1 or not is_archive(alone := next(iter(inside.values()))):
            files = SourceFiles(label, inside)
            files.folders = frozenset(path.name for path in given[0].iterdir() if path.is_dir())
            yield files
            return
        given = [alone]
    if len(given) == 1 and is_archive(given[0]):
        with tempfile.TemporaryDirectory(prefix="headlight-") as folder:
            yield SourceFiles(given[0].name, _unpacked(given[0], Path(folder), model))
    else:
        label = ", ".join(path.name for path in given[:3]) + (", ..." if len(given) > 3 else "")
        for path in given:
            if not path.is_file():
                raise CheckpointError(f"{path.name} is {kind_of(path)}: give one folder, one archive, or files")
        by_name = {path.name: path for path in given}
        if len(by_name) < len(given):
            raise CheckpointError(f"{label}: two files have the same name")
        yield SourceFiles(label, by_name)


def _folder(folder: Path) -> dict[str, Path]:
    """Regular files of a folder.

    A link may lead to another file of the folder, or of a Hugging Face cache around it.
    """
    root = folder.resolve()
    allowed = [root]
    if root.parent.name == "snapshots":  # the cache's layout: models--*/snapshots/*/FILE -> models--*/blobs/*
        allowed.append(root.parent.parent / "blobs")
    targets: dict[str, Path] = {}
    inner = root / INNER_FOLDER  # of an Argos package
    places = [folder, inner] if inner.resolve() == inner and (inner / INNER_FILE).is_file() else [folder]
    for path in [*(path for place in places for path in place.iterdir()), *_parts_of_training(folder)]:
        target = path.resolve()
        if not any(target.is_relative_to(place) for place in allowed):
            raise CheckpointError(f"{root.name}: {path.name!r:.60} is a link to a file outside the folder: remove it")
        if target.is_file():
            targets[path.name] = target
        if len(targets) > MAX_ENTRIES:
            raise CheckpointError(f"{root.name} has more than {MAX_ENTRIES} files: give the folder of one checkpoint")
    return targets


def _parts_of_training(folder: Path) -> list[Path]:
    """Checkpoints and dictionaries of a training by fairseq, directly in their folders or in one below each."""
    if not all((folder / name).is_dir() for name in (TRAINED, DICTIONARIES)):
        return []
    patterns = (f"{TRAINED}/*.pt", f"{TRAINED}/*/*.pt", f"{DICTIONARIES}/dict.*.txt", f"{DICTIONARIES}/*/dict.*.txt")
    parts = [path for pattern in patterns for path in sorted(folder.glob(pattern))]
    names = [path.name for path in parts]
    if twice := [str(path.relative_to(folder)) for path in parts if names.count(path.name) > 1]:
        raise CheckpointError(
            f"{folder.resolve().name} has several models ({', '.join(twice[:4])}): give the checkpoint and the "
            f"dictionaries of one as files"
        )
    return parts


def is_archive(path: Path) -> bool:
    """Whether a file is a zip archive, and not one that PyTorch or NumPy wrote."""
    try:
        if not path.is_file() or not zipfile.is_zipfile(path):  # reading a device would not end
            return False
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            is_numpy = bool(names) and all(name.endswith(".npy") for name in names)
            return not is_numpy and not any(name.endswith("/data.pkl") for name in names)
    except DAMAGE:
        return True  # a damaged one: unpacking says so


@contextmanager
def archive_errors(name: str) -> Generator[None]:
    """Convert errors of reading a damaged archive in the block to `CheckpointError`."""
    try:
        yield
    except CheckpointError:
        raise
    except DAMAGE as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):  # a full disk, no such file
            raise
        raise CheckpointError(f"{name} is a damaged or unusual zip archive: {ADVICE} ({error})") from error


def _unpacked(path: Path, folder: Path, model: str) -> dict[str, Path]:
    """Unpack the files of an archive that lie in its root or in its only folder, or only those of one of its models."""
    with archive_errors(path.name), zipfile.ZipFile(path) as archive:
        entries = [entry for entry in archive.infolist() if not entry.is_dir() and _is_of(model, entry.filename)]
        if any(entry.filename.endswith(f"/{INNER_FOLDER}/{INNER_FILE}") for entry in entries):
            entries = [entry for entry in entries if OTHER_FOLDER not in PurePosixPath(entry.filename).parts[:-1]]
        check_entries(path, entries)
        unpacked: dict[str, Path] = {}
        for number, entry in enumerate(entries):
            name = PurePosixPath(entry.filename).name
            if name in unpacked:
                raise CheckpointError(f"{path.name} has two files named {name!r:.60}: give one checkpoint")
            unpacked[name] = folder / str(number) / name
            with writing(unpacked[name]):
                unpacked[name].parent.mkdir()
                with archive.open(entry) as packed, open(unpacked[name], "wb") as file:
                    shutil.copyfileobj(packed, file, BLOCK_BYTES)  # zipfile stops at the declared size
    return unpacked


def check_entries(path: Path, entries: Sequence[zipfile.ZipInfo]) -> None:
    """Check the declared sizes and names of an archive, before anything is unpacked."""
    if len(entries) > MAX_ENTRIES:
        raise CheckpointError(f"{path.name} has {len(entries)} files, at most {MAX_ENTRIES} are read")
    texts = sum(entry.compress_size for entry in entries if _compresses_well(entry))
    try:
        check_unpacked(path.stat().st_size, sum(entry.file_size for entry in entries), texts)
    except ValueError as error:
        raise CheckpointError(f"{path.name} {error}") from error
    for entry in entries:
        name = entry.filename
        parts = PurePosixPath(name).parts
        if not parts or name.startswith("/") or "\\" in name or ":" in name or ".." in parts:
            raise CheckpointError(f"{path.name}: the name {name!r:.60} leads out of the archive")
        if len(PurePosixPath(name).name.encode()) > MAX_NAME_BYTES:
            raise CheckpointError(f"{path.name}: the name {name!r:.60} is longer than {MAX_NAME_BYTES} bytes")
        if stat.S_ISLNK(entry.external_attr >> 16):
            raise CheckpointError(f"{path.name}: {name!r:.60} is a link, expected only files")


def _compresses_well(entry: zipfile.ZipInfo) -> bool:
    """Whether a file of an archive is not of weights, but of texts or of differences between snapshots."""
    return entry.file_size <= MAX_SMALL_FILE and entry.filename.lower().endswith(COMPRESSIBLE)


def _is_of(model: str, name: str) -> bool:
    """Whether a file of an archive belongs to one of its models; `model` is a file, a folder, or "" for all."""
    path = PurePosixPath(name)
    return not model or name == model or PurePosixPath(model) in (path.parent, path.parent.parent)
