"""Standard streams of a command, its messages, and errors in one line."""

import argparse
import contextlib
import io
import os
import shlex
import sys
import unicodedata
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, NoReturn

from core.files.file_writing import NO_ROOM, NotWrittenError

JOINERS = "\u200c\u200d"  # parts of words in Persian or Hindi, and of emoji
ERRORS = (ValueError, OSError, FloatingPointError)  # that end a command with a message


def printable(text: str, kept: str = "") -> str:
    """Escape the characters that could change what a terminal shows, as `repr` does, but for those that are `kept`.

    These are control characters, also those of C1, marks of the direction of text, separators of lines, surrogates, and
    others without a shape of their own.
    """
    if text.isprintable():
        return text
    return "".join(
        character
        if character.isprintable()
        or character in kept
        or character in JOINERS
        or unicodedata.category(character) == "Zs"
        else repr(character)[1:-1]
        for character in text
    )


def command_line(*words: str | Path) -> str:
    """A command that a reader may copy into a shell, from its words; the names of files are given as paths.

    They are quoted where the shell would take them apart, and a file's name that begins with a dash is no option.
    """
    paths = (f"./{word}" if isinstance(word, Path) and str(word).startswith("-") else str(word) for word in words)
    return shlex.join(paths)


def show(message: str) -> None:
    """Print a message on standard error, `printable` but for line feeds and tabs; if it cannot be written, it is
    lost.
    """
    with contextlib.suppress(OSError):
        print(printable(message, "\n\t"), file=sys.stderr, flush=True)


class CommandParser(argparse.ArgumentParser):
    """A parser of arguments whose messages are `printable`: an argument may be any name of a file."""

    def error(self, message: str) -> NoReturn:
        super().error(printable(message))


@contextlib.contextmanager
def standard_streams() -> Generator[None]:
    """Run a command with any of its standard streams closed.

    A closed one is refused by name when it is read or written, except standard error, whose messages are lost. On a
    terminal, standard output is `printable` but for line feeds and tabs.
    """
    given = sys.stdin, sys.stdout, sys.stderr
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:  # otherwise the next file that is opened would be a standard stream
            os.open(os.devnull, os.O_RDWR)
    sys.stdin = sys.stdin or io.TextIOWrapper(io.BufferedReader(_ClosedStream("standard input is closed", "from")))
    sys.stdout = sys.stdout or io.TextIOWrapper(io.BufferedWriter(_ClosedStream("standard output is closed", "to")))
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    terminal = None
    if sys.stdout.isatty():
        terminal = _Terminal(sys.stdout.buffer, sys.stdout.encoding, sys.stdout.errors, line_buffering=True)
        sys.stdout = terminal
    try:
        yield
    finally:
        discard_output()
        if terminal:
            terminal.detach()
        sys.stdin, sys.stdout, sys.stderr = given


def run_command(name: str, run: Callable[[], int | None], errors: tuple[type[Exception], ...] = ()) -> int:
    """Run a command, and return its exit status: that of `run` or 0, and 1 after an error.

    The message of the error, one of `ERRORS` or of `errors`, is one line on standard error that begins with the
    command's name.
    """
    try:
        status = run()
        sys.stdout.flush()
    except BrokenPipeError:  # the program reading standard output has closed it, as `head` does
        return 1
    except (*ERRORS, *errors) as error:
        show(printable(f"{name}: {error_message(error)}"))
        return 1
    return status or 0


def error_message(error: Exception) -> str:
    """The message of an error that ends a command; an OSError that names no file is taken for one of standard
    output.
    """
    if isinstance(error, NotWrittenError) or not isinstance(error, OSError):
        return str(error)
    if error.filename is None and error.errno in NO_ROOM[:-1]:
        return f"standard output cannot be written ({error.strerror}): free disk space, or redirect it elsewhere"
    if error.filename is None or error.strerror is None:
        return str(error)
    return f"{error.filename}: {error.strerror[:1].lower()}{error.strerror[1:]}"


def discard_output() -> None:
    """Send standard output to /dev/null if it cannot be flushed, as Python flushes it once more at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        with contextlib.suppress(io.UnsupportedOperation):  # a `_ClosedStream` refuses once
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _ClosedStream(io.RawIOBase):
    """A standard stream that the command was started without."""

    def __init__(self, state: str, direction: str) -> None:
        self._message, self._is_refused = f"{state}: redirect it {direction} a file, or {direction} /dev/null", False

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        raise OSError(self._message)

    def write(self, data: Any) -> int:
        if not self._is_refused:  # once: streams are flushed again at their end
            self._is_refused = True
            raise OSError(self._message)
        return len(data)


class _Terminal(io.TextIOWrapper):
    """Standard output on a terminal."""

    def write(self, text: str) -> int:
        return super().write(printable(text, "\n\t"))
