"""Output of a job: a stream, or a file that can be resumed after the job was killed.

Beside the file OUT is OUT.progress, in JSON: the job's settings, the number of input lines done, the number of output
bytes for them, and the SHA-256 of those input lines. It is replaced after each window, once the output is flushed to
the disk. On resume, the output is truncated to the bytes that it records.
"""

import glob
import json
import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

from core.files.console import printable
from core.files.file_writing import write_text, writing
from core.files.strict_json import json_text

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class JobProgress:
    """Progress that has been written to the output."""

    lines: int = 0  # number of lines of the input, and of the output
    untranslated: int = 0  # number of these that could not be translated
    output_bytes: int = 0  # size of the output
    input_sha256: str = ""  # SHA-256 of these lines of the input, in hexadecimal; empty at the start


class StreamOutput:
    """Standard output or another stream of bytes; on a terminal without escape characters, as a model may write any."""

    def __init__(self, stream: BinaryIO, is_terminal: bool = False) -> None:
        self._stream, self._is_terminal = stream, is_terminal
        self.progress = JobProgress()

    def write(self, lines: Sequence[str], untranslated: int, input_sha256: str) -> None:
        """Write a window's lines and flush; `untranslated` of them are empty as they could not be translated."""
        data = _encoded([printable(line, "\t") for line in lines] if self._is_terminal else lines)
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
        """Write the lines of a window and flush to the disk; arguments as for `StreamOutput`."""
        data = _encoded(lines)
        with writing(self.path):
            self._file.write(data)
            self._file.flush()
            os.fsync(self._file.fileno())
        self.progress = _advanced(self.progress, lines, untranslated, data, input_sha256)
        self.save_progress()

    def save_progress(self) -> None:
        text = json_text({"format": FORMAT, "settings": self._settings, **asdict(self.progress)}, indent=2) + "\n"
        write_text(progress_path(self.path), text)


def progress_path(output: Path) -> Path:
    """Path of the progress file of an output."""
    return output.with_name(f"{output.name}.progress")


@contextmanager
def open_output(path: Path, settings: dict[str, Any], resume: bool) -> Generator[FileOutput]:
    """Create an output, or continue one with equal settings.

    Its progress file is deleted when the block succeeds, and kept otherwise.

    Raises:
        ValueError: there is an output and `resume` is false, or it cannot be continued.
        OSError: the files cannot be read or written, or another process writes to the output.
    """
    if path.exists() and not path.is_file():
        raise ValueError(f"--output {path} is not a regular file: redirect standard output to it instead")
    if not resume and path.exists() and path.stat().st_size:
        choices = "add --resume to continue the job that wrote it, or remove it, or give another --output"
        raise ValueError(f"{path} is not empty: {choices}")
    with writing(path):
        path.touch()
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
    """Progress of an existing output; that of a new job if there is none."""
    beside, size = progress_path(path), path.stat().st_size
    restart = f"remove {path.name} and {beside.name} to start again"
    if not beside.exists():
        if not size:
            return JobProgress()
        reason = f"there is no {beside.name} beside it, so it is complete or was not written by this command"
        raise ValueError(f"{path} cannot be resumed: {reason}; give another --output")
    try:
        record = json.loads(beside.read_text(encoding="utf-8"))
        before, version = record.pop("settings"), record.pop("format")
        progress = JobProgress(**record)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{beside} is not the progress of a translation ({error!r}): {restart}") from error
    if version != FORMAT:
        raise ValueError(f"{beside} has format {version}, expected {FORMAT}: {restart}")
    for name in {**before, **settings}:
        if before.get(name) != settings.get(name):
            started = f"{name} {before[name]}" if name in before else f"no {name}"
            raise ValueError(
                f"{path} was started with {started}, this command has {settings.get(name, 'none')}: give the same "
                f"value, or {restart}"
            )
    if size < progress.output_bytes or _count_lines(path, progress.output_bytes) != progress.lines:
        raise ValueError(
            f"{path} does not begin with the {progress.lines} lines ({progress.output_bytes} bytes) that were written "
            f"to it, so it was changed: {restart}"
        )
    return progress


def _count_lines(path: Path, num_bytes: int) -> int:
    """Number of lines in the first bytes of a file; -1 if the last one is incomplete."""
    lines, last = 0, b"\n"
    with open(path, "rb") as file:
        while num_bytes and (block := file.read(min(num_bytes, 2**20))):
            num_bytes -= len(block)
            lines, last = lines + block.count(b"\n"), block[-1:]
    return lines if last == b"\n" else -1


def _lock(path: Path, file: BinaryIO) -> None:
    """Lock a file until it is closed."""
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
