"""Parallel text from files: plain, .gz or .xz, one sentence a line."""

import gzip
import lzma
from collections.abc import Sequence
from pathlib import Path

from train.data import DataError

OPENERS = {".gz": gzip.open, ".xz": lzma.open}


def read_lines(path: str | Path) -> list[str]:
    """The file's lines, without their ends. Only a line feed ends a line: other separators are text.

    Raises:
        DataError: the file is missing, damaged or not UTF-8.
    """
    path = Path(path)
    opener = OPENERS.get(path.suffix, open)
    try:
        with opener(path, "rt", encoding="utf-8", newline="\n") as file:
            text = file.read()
    except FileNotFoundError as error:
        raise DataError(f"there is no file {path}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 (byte {error.object[error.start]:#04x} at offset {error.start}): convert it to UTF-8") from error
    except (OSError, EOFError, lzma.LZMAError) as error:
        raise DataError(f"{path} cannot be read: {error}") from error
    lines = [line.rstrip("\r") for line in text.split("\n")]
    return lines[:-1] if lines[-1] == "" else lines


def read_parallel(source_files: Sequence[str | Path], target_files: Sequence[str | Path]) -> list[tuple[str, str]]:
    """Sentence pairs of one or many files a side, the n-th source file being the translation of the n-th target file.

    Raises:
        DataError: the sides do not have the same number of files, or two files the same number of lines; or all is empty.
    """
    if len(source_files) != len(target_files):
        raise DataError(f"{len(source_files)} source files but {len(target_files)} target files: give them in pairs")
    pairs: list[tuple[str, str]] = []
    for source_file, target_file in zip(source_files, target_files, strict=True):
        source, target = read_lines(source_file), read_lines(target_file)
        if len(source) != len(target):
            raise DataError(f"{source_file} has {len(source)} lines but {target_file} has {len(target)}: they are not parallel")
        pairs += zip(source, target, strict=True)
    if not any(source.strip() and target.strip() for source, target in pairs):
        raise DataError(f"no sentence pair in {', '.join(map(str, (*source_files, *target_files)))}: every line is empty")
    return pairs
