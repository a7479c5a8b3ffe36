"""Text of files and of pasted lines: UTF-8, in lines that end with LF or CRLF.

Every command, the training and the app read text by these rules. A byte-order mark at the start is not text. No other
character ends a line: a form feed, U+0085 and U+2028 occur in sentences and in pieces of vocabularies. Bytes of another
encoding and NUL are refused: as UTF-8, they would be other characters.
"""

import codecs
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from core.files.file_writing import reading

BOM = "\ufeff"
_MARKS = {  # the longer ones first: that of UTF-32 begins with that of UTF-16
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
_START = 1024  # bytes by which an encoding is recognised


class NotTextError(ValueError):
    """Bytes that are not UTF-8 text; `problem` describes them without the name of the file."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(f"{name} is not UTF-8 text: {problem}; convert it to UTF-8")
        self.problem = problem


def read_text(path: Path) -> str:
    """`decode` the content of a file.

    Raises:
        NotTextError: as `decode`.
        OSError: the file cannot be read.
    """
    with reading(path):
        return decode(path.read_bytes(), path.name)


def decode(content: bytes, name: str) -> str:
    """Text of a file, without its byte-order mark; a `NotTextError` names it if it is not UTF-8, or has a NUL."""
    require_utf8(content, name)
    try:
        return _decoded(without_bom(content))
    except UnicodeDecodeError as error:
        number = error.object.count(b"\n", 0, error.start) + 1
        raise NotTextError(name, f"{_invalid(error)} in line {number}") from error


def decode_line(line: bytes, name: str) -> str:
    """Text of a line, without its end; a `NotTextError` as of `decode` names it, such as `line 3 of FILE`."""
    try:
        return _decoded(line).removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise NotTextError(name, f"{_invalid(error)} at position {error.start}") from error


def decode_lines(lines: Iterable[bytes], name: str) -> Iterator[str]:
    """Yield the text of each line of an open file, without line ends; a `NotTextError` as of `decode` names it."""
    for number, line in enumerate(lines, 1):
        if number == 1:
            require_utf8(line, name)
        yield decode_line(without_bom(line) if number == 1 else line, f"line {number} of {name}")


def split_lines(text: str) -> list[str]:
    """Lines of a text, without line ends; a line end at the end of the text begins no other line."""
    lines = text.removeprefix(BOM).split("\n")
    return [line.removesuffix("\r") for line in (lines if lines[-1] else lines[:-1])]


def one_line(text: str) -> str:
    """The text with spaces for tabs and for every character that some program takes for a line end."""
    return " ".join(text.splitlines()).replace("\t", " ")


def without_bom(content: bytes) -> bytes:
    """The bytes of a file without the byte-order mark of UTF-8."""
    return content.removeprefix(codecs.BOM_UTF8)


def require_utf8(content: bytes, name: str) -> None:
    """Check that a file does not begin like one of another encoding.

    Raises:
        NotTextError: naming the encoding.
    """
    for mark, encoding in _MARKS.items():
        if content.startswith(mark):
            raise NotTextError(name, f"it is {encoding}")
    start = content[:_START]
    zeros = [start[offset::2].count(0) for offset in (0, 1)]
    if min(zeros) == 0 and max(zeros) > len(start) / 4:  # every second byte of a Latin letter
        raise NotTextError(name, "it is UTF-16, without a byte-order mark")


def _decoded(content: bytes) -> str:
    """The content as UTF-8, in which a NUL is invalid too."""
    if (position := content.find(0)) >= 0:
        raise UnicodeDecodeError("utf-8", content, position, position + 1, "NUL")
    return content.decode()


def _invalid(error: UnicodeDecodeError) -> str:
    """Name of the byte that is no text."""
    byte = error.object[error.start]
    return f"byte {byte:#04x}" if byte else "NUL (byte 0x00)"


# --- sentences with translations ------------------------------------------------------------------------------------

TAB = "\t"


@dataclass(frozen=True)
class Line:
    """A sentence of a file."""

    number: int  # of its line, from 1
    source: str
    target: str | None = None  # its translation; None: the model's own is to be scored


def parse_lines(text: str, second: str = "translation") -> list[Line]:
    """Parse sentences, one per line.

    A line is a source, or a source and its translation with a tab between. Blank lines are skipped, but counted.

    Args:
        second: what the second column has, for messages.

    Raises:
        ValueError: there is no sentence, or a line has no source or more than one tab; the message names the line.
    """
    lines: list[Line] = []
    for number, content in enumerate(split_lines(text), start=1):
        source, *targets = content.split(TAB)
        if not content.strip():
            continue
        if len(targets) > 1:
            raise ValueError(
                f"line {number} has {len(targets) + 1} columns, expected a source, or a source and its {second} with "
                f"one tab between: delete the others"
            )
        if not source.strip():
            raise ValueError(f"line {number} has a {second} but no source: put the source before the tab")
        lines.append(Line(number, source.strip(), (targets[0].strip() or None) if targets else None))
    if not lines:
        raise ValueError("there is no sentence: expected one per line")
    return lines
