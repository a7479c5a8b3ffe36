"""Readers of parallel text, which yield one pair at a time and need little memory.

Two files of one sentence a line: plain, .gz, .xz, .bz2 or .zst. One file of both sides: .tsv (may be compressed), a
Moses .zip as distributed by OPUS, or .parquet.
"""

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import IO, Any, cast

from core.files.file_writing import refuse_device
from core.text.text_files import NotTextError, decode_lines
from train.data.token_shards import DataError

Pair = tuple[str, str]
COMPRESSED = (".gz", ".xz", ".bz2", ".zst")
TEXT_FORMATS = f"plain, {', '.join(COMPRESSED[:-1])} or {COMPRESSED[-1]}"  # for help texts


@dataclass(frozen=True)
class ParallelText:
    """Files of sentence pairs; each iteration reads them from the start."""

    source: Sequence[Path] = ()  # files of one side each, paired in order with those of `target`
    target: Sequence[Path] = ()
    pairs: Sequence[Path] = ()  # files with both sides, read after those; see `read_pairs`
    languages: tuple[str, str] | None = None  # of source and target, for files that name their sides by language

    @property
    def files(self) -> list[Path]:
        """All files."""
        return [*self.source, *self.target, *self.pairs]

    def __iter__(self) -> Iterator[Pair]:
        yield from read_parallel(self.source, self.target)
        for path in self.pairs:
            yield from read_pairs(path, self.languages)


def open_text(path: Path) -> IO[bytes]:
    """Open a file for reading bytes, decompressed according to its suffix.

    Raises:
        DataError: there is no such file, or it is a folder.
    """
    refuse_device(path)
    try:
        match path.suffix:
            case ".gz":
                return cast("IO[bytes]", gzip.open(path))
            case ".xz":
                return lzma.open(path)
            case ".bz2":
                return bz2.open(path)
            case ".zst":
                return _open_zst(path)
            case _:
                return path.open("rb")
    except FileNotFoundError as error:
        raise DataError(f"there is no file {path}") from error
    except IsADirectoryError as error:
        raise DataError(f"{path} is a folder: name the files in it") from error


def _open_zst(path: Path) -> IO[bytes]:
    import pyarrow  # a slow import

    path.open("rb").close()  # raises the system's own errors
    return cast("IO[bytes]", io.BufferedReader(pyarrow.input_stream(str(path), compression="zstd")))  # pyright: ignore[reportArgumentType]


def read_lines(path: str | Path) -> Iterator[str]:
    """Yield the lines of a file, without line ends; only a line feed ends a line, other separators are text.

    Raises:
        DataError: the file is missing, damaged or not UTF-8.
    """
    path = Path(path)
    with open_text(path) as file:
        yield from _decoded(file, str(path))


def _decoded(file: IO[bytes], name: str) -> Iterator[str]:
    """Yield the lines of an open file, which errors call `name`."""
    number = 0
    try:
        for line in decode_lines(file, name):
            number += 1
            yield line
    except NotTextError as error:
        raise DataError(str(error)) from error
    except (OSError, EOFError, lzma.LZMAError, zlib.error, zipfile.BadZipFile) as error:
        raise DataError(f"{name} cannot be read after line {number}: {error}") from error


def read_parallel(source_files: Sequence[str | Path], target_files: Sequence[str | Path]) -> Iterator[Pair]:
    """Yield the sentence pairs of files that are paired in order.

    Raises:
        DataError: the numbers of files differ, or the numbers of lines of a pair of files.
    """
    if len(source_files) != len(target_files):
        raise DataError(f"{len(source_files)} source files but {len(target_files)} target files: give them in pairs")
    for source_file, target_file in zip(source_files, target_files, strict=True):
        yield from _aligned(read_lines(source_file), read_lines(target_file), str(source_file), str(target_file))


def _aligned(source: Iterator[str], target: Iterator[str], source_name: str, target_name: str) -> Iterator[Pair]:
    for number, (left, right) in enumerate(zip_longest(source, target)):
        if left is None or right is None:
            longer = number + 1 + sum(1 for _ in (target if left is None else source))
            counts = f"{number} lines but {longer}" if left is None else f"{longer} lines but {number}"
            raise DataError(f"{source_name} and {target_name} are not parallel: {counts}")
        yield left, right


def read_pairs(path: str | Path, languages: tuple[str, str] | None = None) -> Iterator[Pair]:
    """Yield the sentence pairs of one file with both sides.

    Args:
        path: .tsv: the first two columns, or those named by `languages` in the header; .zip: two members with the
            suffixes `.LANGUAGE`; .parquet: two columns, or a column `translation` of two fields, named by `languages`.
        languages: source and target.

    Raises:
        DataError: the file cannot be read, or has no such languages.
    """
    path = Path(path)
    kind = next((suffix for suffix in reversed(path.suffixes) if suffix not in COMPRESSED), "")
    if kind == ".tsv":
        yield from _read_tsv(path, languages)
        return
    if kind not in (".zip", ".parquet"):
        raise DataError(
            f"{path} should end in .tsv, .zip or .parquet: give the two sides of other text with --source and --target"
        )
    if languages is None:
        raise DataError(f"{path} names its sides by language: add --languages, such as --languages en de")
    if not path.is_file():
        raise DataError(f"there is no file {path}")
    yield from (_read_zip if kind == ".zip" else _read_parquet)(path, languages)


def _read_tsv(path: Path, languages: tuple[str, str] | None) -> Iterator[Pair]:
    columns, number = (0, 1), 0
    for number, line in enumerate(read_lines(path), 1):
        cells = line.split("\t")
        if number == 1 and languages and set(languages) <= set(cells):
            columns = (cells.index(languages[0]), cells.index(languages[1]))
            continue
        if len(cells) <= max(columns):
            raise DataError(
                f"{path} has {len(cells)} columns in line {number}, expected at least {max(columns) + 1} with tabs "
                f"between them"
            )
        yield cells[columns[0]], cells[columns[1]]


def _read_zip(path: Path, languages: tuple[str, str]) -> Iterator[Pair]:
    with ExitStack() as stack:
        try:
            archive = stack.enter_context(zipfile.ZipFile(path))
        except zipfile.BadZipFile as error:
            raise DataError(f"{path} cannot be read: {error}") from error
        names = archive.namelist()
        members = [[name for name in names if name.endswith(f".{language}")] for language in languages]
        if [len(side) for side in members] != [1, 1]:
            wanted = " and ".join(f"*.{language}" for language in languages)
            raise DataError(f"{path} should hold one {wanted} each; it holds {', '.join(names) or 'nothing'}")
        source, target = (_decoded(stack.enter_context(archive.open(side[0])), f"{path}/{side[0]}") for side in members)
        yield from _aligned(source, target, *(f"{path}/{side[0]}" for side in members))


def _read_parquet(path: Path, languages: tuple[str, str]) -> Iterator[Pair]:
    from pyarrow import ArrowException, parquet

    try:
        with parquet.ParquetFile(path) as file:
            nested = "translation" in file.schema_arrow.names
            columns = file.schema_arrow.field("translation").type if nested else file.schema_arrow
            names: list[str] = [field.name for field in columns]
            missing = [language for language in languages if language not in names]
            if missing:
                raise DataError(f"{path} has no column {' and '.join(missing)}: its columns are {', '.join(names)}")
            for batch in file.iter_batches(columns=["translation"] if nested else list(languages)):
                rows: Iterable[dict[str, Any]] = (batch.column("translation") if nested else batch).to_pylist()
                yield from ((row[languages[0]] or "", row[languages[1]] or "") for row in rows)
    except (ArrowException, OSError) as error:
        raise DataError(f"{path} cannot be read: {error}") from error
