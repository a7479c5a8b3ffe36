"""Standard streams of a command, its messages, and errors in one line."""

import argparse
import contextlib
import io
import os
import shlex
import signal
import sys
import unicodedata
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from core.files.extras import MissingPackageError
from core.files.file_writing import NO_ROOM, NotWrittenError
from core.files.shipped_files import installed_version

JOINERS = "\u200c\u200d"  # parts of words in Persian or Hindi, and of emoji
# Summary, arguments and function of a command.
Command = tuple[str, Callable[[argparse.ArgumentParser], None], Callable[[argparse.Namespace], int | None]]
VALUE_NAMES: dict[Any, str] = {int: "N", float: "X", Path: "FILE"}  # in the help of a command
ERRORS = (ValueError, OSError, FloatingPointError, MissingPackageError)  # that end a command with a message


def printable(text: str, kept: str = "") -> str:
    """Escape the characters that could change what a terminal shows, as `repr` does, but for those that are `kept`.

    Control characters, also of C1, marks of direction, separators of lines, surrogates, and others without a shape.
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
    """Print a message on standard error, `printable` but for line feeds and tabs; what cannot be written is lost."""
    with contextlib.suppress(OSError):
        print(printable(message, "\n\t"), file=sys.stderr, flush=True)


class CommandHelp(argparse.HelpFormatter):
    """Help texts that name the default of an option, if they do not themselves, and a value by its type."""

    def _get_help_string(self, action: argparse.Action) -> str:
        about = action.help or ""
        is_said = "default: " in about or action.default in (None, False, argparse.SUPPRESS, "", (), [])
        return about if is_said else f"{about} (default: %(default)s)".strip()

    def _format_action(self, action: argparse.Action) -> str:
        action.help = action.help or self._get_help_string(action) or None  # a default may be all there is to say
        return super()._format_action(action)

    def _get_default_metavar_for_optional(self, action: argparse.Action) -> str:
        kind = getattr(action.type, "kind", action.type)  # of a `NumberRange`
        return VALUE_NAMES.get(kind) or super()._get_default_metavar_for_optional(action)


class CommandParser(argparse.ArgumentParser):
    """A parser of arguments whose messages are `printable`: an argument may be any name of a file."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **{"formatter_class": CommandHelp, **options})

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


class StoppedError(Exception):
    """A signal has stopped a command."""

    def __init__(self, message: str, signal_number: int) -> None:
        super().__init__(message)
        self.signal_number = signal_number


def run_program(
    prog: str,
    description: str,
    commands: Mapping[str, Command],
    arguments: Sequence[str] | None = None,
    errors: tuple[type[Exception], ...] = (),
) -> int:
    """Run one of the commands of a program; a single one has no name on the command line.

    Returns:
        As `run_command`, and 128 plus the number of a signal that has stopped it; argparse itself exits with 2.
    """
    parser = CommandParser(prog=prog, description=description)
    parser.add_argument("--version", action="version", version=f"headlight {installed_version()}")
    has_several = len(commands) > 1
    parsers = parser.add_subparsers(required=True, title="commands", metavar="COMMAND") if has_several else None
    for name, (summary, add_arguments, run) in commands.items():
        about = f"{summary[0].upper()}{summary[1:]}."
        command = parsers.add_parser(name, help=summary, description=about) if parsers else parser
        add_arguments(command)
        command.set_defaults(run=run, program=command.prog)
    with standard_streams():
        options = parser.parse_args(arguments)
        name = options.program
        try:
            return run_command(name, lambda: options.run(options), errors)
        except StoppedError as stopped:
            show(f"{name}: {stopped}")
            return 128 + stopped.signal_number
        except KeyboardInterrupt:
            show(f"{name}: interrupted; the files already saved are intact")
            return 128 + signal.SIGINT


def run_command(name: str, run: Callable[[], int | None], errors: tuple[type[Exception], ...] = ()) -> int:
    """Run a command, and return its exit status: that of `run` or 0, and 1 after an error.

    The error's message, of `ERRORS` or `errors`, is a line on standard error that begins with the command's name.
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
    """The message of an error that ends a command; an OSError without a file is taken for one of standard output."""
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
