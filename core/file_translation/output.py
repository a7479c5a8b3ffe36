"""Where translations go: a stream, or a file that a killed job leaves in a state from which it can be resumed.

Beside the file OUT stands OUT.progress, in JSON: the job's settings, how many lines of the input are done, how many
bytes of the output they take, and the SHA-256 of those lines of the input. It is replaced after each window, once the
output is on the disk. What the output holds beyond it is cut off on resume.
"""

import glob
import json
import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from core.checkpoint import write_whole

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class JobProgress:
    """What is written for good.

    Attributes:
        lines: of the input, and of the output.
        untranslated: how many of them could not be translated.
        output_bytes: that they take.
        input_sha256: of these lines of the input, in hexadecimal; of nothing at the start.
    """

    lines: int = 0
    untranslated: int = 0
    output_bytes: int = 0
    input_sha256: str = ""


class Output(Protocol):
    """Takes the translations of window after window."""

    progress: JobProgress

    def write(self, lines: Sequence[str], untranslated: int, input_sha256: str) -> None:
        """Write a window's lines, of which so many are empty because they could not be translated. Flushes."""
        ...


class StreamOutput:
    """Standard output, or any other stream of bytes."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.progress = JobProgress()

    def write(self, lines: Sequence[str], untranslated: int, input_sha256: str) -> None:
        data = _encoded(lines)
        self._stream.write(data)
        self._stream.flush()
        self.progress = _advanced(self.progress, lines, untranslated, data, input_sha256)


class FileOutput:
    """A file whose job can be resumed; see `open_output`."""

    def __init__(self, path: Path, file: BinaryIO, settings: dict[str, Any], progress: JobProgress) -> None:
        self.path = path
        self.progress = progress
        self._file = file
        self._settings = settings

    def write(self, lines: Sequence[str], untranslated: int, input_sha256: str) -> None:
        data = _encoded(lines)
        self._file.write(data)
        self._file.flush()
        os.fsync(self._file.fileno())
        self.progress = _advanced(self.progress, lines, untranslated, data, input_sha256)
        self.save_progress()

    def save_progress(self) -> None:
        text = json.dumps({"format": FORMAT, "settings": self._settings, **asdict(self.progress)}, indent=2) + "\n"
        write_whole(progress_path(self.path), lambda temporary: temporary.write_text(text, encoding="utf-8"))


def progress_path(output: Path) -> Path:
    """The file beside an output that says how far it is."""
    return output.with_name(f"{output.name}.progress")


@contextmanager
def open_output(path: Path, settings: dict[str, Any], resume: bool) -> Generator[FileOutput]:
    """Begin an output, or continue one. Its progress is deleted when the block ends well, and kept when it does not.

    Args:
        settings: what the output depends on beside the input; a job is only continued with the same ones.
        resume: continue what is there, if anything.

    Raises:
        ValueError: there is an output and `resume` is false, or it cannot be continued.
        OSError: the files cannot be read or written, or another process writes to the output.
    """
    if path.exists() and not path.is_file():
        raise ValueError(f"--output {path} is not a regular file: redirect standard output to it instead")
    if not resume and path.exists() and path.stat().st_size:
        choices = "add --resume to continue the job that wrote it, or remove it, or give another --output"
        raise ValueError(f"{path} is not empty: {choices}")
    with open(path, "ab") as file:
        _lock(path, file)
        for part in path.parent.glob(f".{glob.escape(progress_path(path).name)}.*.part"):  # of a job that was killed
            part.unlink()
        progress = _resumed(path, settings) if resume else JobProgress()
        file.truncate(progress.output_bytes)
        output = FileOutput(path, file, settings, progress)
        output.save_progress()
        yield output
    progress_path(path).unlink()


def _resumed(path: Path, settings: dict[str, Any]) -> JobProgress:
    """How far the job is that wrote an output; the start if there is none.

    Raises:
        ValueError: the output or its progress is not from this command, was changed, or is from a job with other
            settings.
    """
    beside, size = progress_path(path), path.stat().st_size
    begin_again = f"remove {path.name} and {beside.name} to begin again"
    if not beside.exists():
        if not size:
            return JobProgress()
        reason = f"there is no {beside.name} beside it, so it is complete or from elsewhere"
        raise ValueError(f"{path} cannot be resumed: {reason}; give another --output")
    try:
        found = json.loads(beside.read_text(encoding="utf-8"))
        before, version = found.pop("settings"), found.pop("format")
        progress = JobProgress(**found)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{beside} is not the progress of a translation ({error!r}): {begin_again}") from error
    if version != FORMAT:
        raise ValueError(f"{beside} has format {version}, expected {FORMAT}: {begin_again}")
    for name in {**before, **settings}:
        if before.get(name) != settings.get(name):
            raise ValueError(
                f"{path} was begun with {name} {before.get(name)}, this command has {settings.get(name)}: give the "
                f"same again, or {begin_again}"
            )
    if size < progress.output_bytes or _count_lines(path, progress.output_bytes) != progress.lines:
        raise ValueError(
            f"{path} does not begin with the {progress.lines} lines ({progress.output_bytes} bytes) that were written "
            f"to it: it was changed; {begin_again}"
        )
    return progress


def _count_lines(path: Path, num_bytes: int) -> int:
    """Number of whole lines in the first bytes of a file; -1 if they do not end with a line's end."""
    lines, last = 0, b"\n"
    with open(path, "rb") as file:
        while num_bytes and (block := file.read(min(num_bytes, 2**20))):
            num_bytes -= len(block)
            lines, last = lines + block.count(b"\n"), block[-1:]
    return lines if last == b"\n" else -1


def _lock(path: Path, file: BinaryIO) -> None:
    """Raises: BlockingIOError, if another process has locked the file; the lock lasts until it is closed."""
    if fcntl is None:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        choices = "wait for it, stop it, or give another --output"
        raise BlockingIOError(f"another process is writing to {path}: {choices}") from error


def _encoded(lines: Sequence[str]) -> bytes:
    return b"".join(line.encode() + b"\n" for line in lines)


def _advanced(
    progress: JobProgress, lines: Sequence[str], untranslated: int, data: bytes, input_sha256: str
) -> JobProgress:
    return JobProgress(
        lines=progress.lines + len(lines),
        untranslated=progress.untranslated + untranslated,
        output_bytes=progress.output_bytes + len(data),
        input_sha256=input_sha256,
    )
