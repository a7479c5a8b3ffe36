"""Input: lines in windows, and the sentences of each line."""

import gzip
import hashlib
import io
import lzma
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from core.files.file_writing import refuse_device
from core.text.sentences import split_sentences
from core.text.text_files import BOM, decode_line, require_utf8, without_bom
from core.translator import Translator

# Lines sorted by length together. 4000 would save 5 % of the steps, and lose twice as much work if a job is killed.
WINDOW_LINES = 2000
WINDOW_BYTES = 4 * 2**20  # a window ends at the line that reaches this; bounds memory with long lines
MAX_LINE_BYTES = 2**20
DECOMPRESS = {".gz": gzip.open, ".xz": lzma.open}


@dataclass(frozen=True)
class LineWindow:
    """Consecutive lines of the input, translated and written together."""

    start: int  # number of lines before the first
    lines: tuple[bytes, ...]  # the lines as read; at most `MAX_LINE_BYTES` + 1 bytes of each
    digest: str  # SHA-256 of the input up to the end of this window, in hexadecimal

    @property
    def end(self) -> int:
        """Number of lines up to the end of this window."""
        return self.start + len(self.lines)


@contextmanager
def open_input(path: Path) -> Generator[BinaryIO]:
    """Open a file for reading bytes, decompressed according to its suffix.

    Raises:
        ValueError: inside the block, if a compressed file is damaged.
        OSError: the file cannot be read.
    """
    refuse_device(path)
    try:
        with cast("BinaryIO", DECOMPRESS.get(path.suffix, io.open)(path, "rb")) as stream:
            yield stream
    except (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error) as error:
        what = f"{path} is damaged or not a {path.suffix} file ({error})"
        raise ValueError(f"{what}: compress or download it again") from error


def count_lines(stream: BinaryIO) -> int | None:
    """Number of remaining lines, or None if the stream is not seekable."""
    if not stream.seekable():
        return None
    start = stream.tell()
    lines, last = 0, b"\n"
    while block := stream.read(2**20):
        lines, last = lines + block.count(b"\n"), block[-1:]
    stream.seek(start)
    return lines + (last != b"\n")


class InputReader:
    """Iterator over the lines of a stream, with the SHA-256 of all bytes read.

    Lines are cut after `MAX_LINE_BYTES` + 1 bytes. The first has no byte-order mark.

    Raises:
        NotTextError: the stream begins as one of another encoding, such as UTF-16, does.
    """

    def __init__(self, stream: BinaryIO, name: str = "the input") -> None:
        self.lines_read = 0
        self._stream = stream
        self._sha256 = hashlib.sha256()
        self._first = self._stream.readline(len(BOM.encode()) + MAX_LINE_BYTES + 1)
        require_utf8(self._first, name)

    @property
    def digest(self) -> str:
        """SHA-256 of all bytes up to the end of the last line, in hexadecimal."""
        return self._sha256.hexdigest()

    def __iter__(self) -> Iterator[bytes]:
        while line := self._first or self._stream.readline(MAX_LINE_BYTES + 1):
            self._first = b""
            self._sha256.update(line)
            part = line
            while not part.endswith(b"\n") and (part := self._stream.readline(MAX_LINE_BYTES)):
                self._sha256.update(part)
            self.lines_read += 1
            yield (without_bom(line) if self.lines_read == 1 else line)[: MAX_LINE_BYTES + 1]

    def skip(self, lines: int) -> None:
        """Read this many lines, or to the end."""
        for _, _line in zip(range(lines), self, strict=False):
            pass


def read_windows(reader: InputReader) -> Iterator[LineWindow]:
    """Divide the rest of the input into windows, by the lines alone, so that a resumed job has the same windows."""
    lines: list[bytes] = []
    num_bytes = 0
    for line in reader:
        lines.append(line)
        num_bytes += len(line)
        if len(lines) >= WINDOW_LINES or num_bytes >= WINDOW_BYTES:
            yield LineWindow(reader.lines_read - len(lines), tuple(lines), reader.digest)
            lines, num_bytes = [], 0
    if lines:
        yield LineWindow(reader.lines_read - len(lines), tuple(lines), reader.digest)


def split_lines(
    window: LineWindow, translator: Translator, strict: bool = False
) -> tuple[list[tuple[str, ...]], list[str]]:
    """Split the lines of a window into sentences, with messages about the lines that cannot be translated.

    Returns:
        The sentences of each line, none for a blank line or one that cannot be translated; and the messages.

    Raises:
        ValueError: if `strict`, naming the first such line.
    """
    sentences: list[tuple[str, ...]] = []
    problems: list[str] = []
    for number, line in enumerate(window.lines, start=window.start + 1):
        try:
            sentences.append(_sentences(translator, number, line))
        except ValueError as error:
            if strict:
                raise
            sentences.append(())
            problems.append(str(error))
    return sentences, problems


def _sentences(translator: Translator, number: int, line: bytes) -> tuple[str, ...]:
    """The line as one sentence, or split by `core.text.sentences` if it is too long."""
    if len(line) > MAX_LINE_BYTES:
        raise ValueError(f"line {number} of the input has more than {MAX_LINE_BYTES:,} bytes: split it")
    text = decode_line(line, f"line {number} of the input").strip()
    if not text or translator.codec.fits(text):
        return (text,) if text else ()
    sentences = tuple(sentence for sentence, _ in split_sentences(text))
    for sentence in sentences:
        try:
            translator.token_ids(sentence, "")
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from error
    return sentences
