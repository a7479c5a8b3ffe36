"""Outputs are resumed after an interruption, and refused if they cannot be."""

import io
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from core.cli.file_translation.engine import Engine
from core.cli.file_translation.job_output import StreamOutput, open_output, progress_path
from core.decoding import Constraints, Forbidden, Sampling

SETTINGS = {"checkpoint_sha256": "abc", "beam_size": 4}


class StopError(Exception):
    """Interrupts a job."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out.txt"


@pytest.fixture
def interrupted(path: Path) -> Path:
    """A job interrupted after two lines."""
    with suppress(StopError), open_output(path, SETTINGS, resume=False) as output:
        output.write(["eins", ""], 1, "digest")
        raise StopError
    return path


def refused(
    path: Path, message: str, settings: dict[str, Any] = SETTINGS, error: type[Exception] = ValueError, *, resume: bool
) -> None:
    with pytest.raises(error, match=message), open_output(path, settings, resume=resume):
        pass


def test_a_job_without_interruption(path: Path) -> None:
    with open_output(path, SETTINGS, resume=False) as output:
        output.write(["eins", "zwei"], 0, "first")
        assert path.read_bytes() == b"eins\nzwei\n"
        assert progress_path(path).exists()
        output.write(["drei"], 0, "second")
    assert path.read_text() == "eins\nzwei\ndrei\n"
    assert [each.name for each in path.parent.iterdir()] == ["out.txt"]


@pytest.mark.parametrize("after", [b"", b"dr", b"drei\nvier\nf"])
def test_output_after_the_last_window_is_truncated(interrupted: Path, after: bytes) -> None:
    interrupted.write_bytes(interrupted.read_bytes() + after)
    # killed while it was written
    (interrupted.parent / f".{progress_path(interrupted).name}.0123.part").write_text("{")
    with open_output(interrupted, SETTINGS, resume=True) as output:
        assert (output.progress.lines, output.progress.untranslated, output.progress.input_sha256) == (2, 1, "digest")
        output.write(["drei"], 0, "more")
    assert interrupted.read_bytes() == b"eins\n\ndrei\n"
    assert [each.name for each in interrupted.parent.iterdir()] == ["out.txt"]


@pytest.mark.parametrize("content", [None, b""])
def test_resume_begins_where_nothing_is_there(path: Path, content: bytes | None) -> None:
    if content is not None:
        path.write_bytes(content)
    with open_output(path, SETTINGS, resume=True) as output:
        assert output.progress.lines == 0
        output.write(["eins"], 0, "digest")
    assert path.read_bytes() == b"eins\n"


def test_a_complete_output_is_not_resumed(path: Path) -> None:
    path.write_text("eins\n")
    refused(path, "there is no out.txt.progress beside it, so it is complete", resume=True)


@pytest.mark.parametrize(
    ("name", "value", "started"),
    [
        ("beam_size", 5, "beam_size 4"),
        ("checkpoint_sha256", "def", "checkpoint_sha256 abc"),
        ("precision", "fast", "no precision"),
    ],
)
def test_other_settings_do_not_resume(interrupted: Path, name: str, value: Any, started: str) -> None:
    message = rf"out.txt was started with {started}, this command has {value}: give the same value"
    refused(interrupted, message, {**SETTINGS, name: value}, resume=True)


@pytest.mark.parametrize("content", [b"eins\n", b"eins\nx", b"eins;\nzwei\n", b""])
def test_a_changed_output_is_not_resumed(interrupted: Path, content: bytes) -> None:
    interrupted.write_bytes(content)
    message = r"out.txt does not begin with the 2 lines \(6 bytes\) that were written to it, so it was changed"
    refused(interrupted, message, resume=True)
    assert interrupted.read_bytes() == content


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 1, "settings": {}, "colour": "red"}'])
def test_damaged_progress(interrupted: Path, text: str) -> None:
    progress_path(interrupted).write_text(text)
    refused(interrupted, "out.txt.progress is not the progress of a translation", resume=True)


def test_progress_of_another_format(interrupted: Path) -> None:
    progress = progress_path(interrupted)
    progress.write_text(json.dumps({**json.loads(progress.read_text()), "format": 2}))
    refused(interrupted, "out.txt.progress has format 2, expected 1", resume=True)


def test_two_jobs_do_not_write_to_one_output(path: Path) -> None:
    pytest.importorskip("fcntl")
    with open_output(path, SETTINGS, resume=False):
        refused(path, "another process is writing to .*out.txt", error=BlockingIOError, resume=True)


def test_only_regular_files(tmp_path: Path) -> None:
    refused(tmp_path, "is not a regular file: redirect standard output", resume=False)


def test_a_terminal_gets_no_control_characters() -> None:
    for is_terminal, expected in ((True, b"a\\x1b[2J\tb\n"), (False, b"a\x1b[2J\tb\n")):
        stream = io.BytesIO()
        output = StreamOutput(stream, is_terminal)
        output.write(["a\x1b[2J\tb"], 0, "")
        assert stream.getvalue() == expected
        assert output.progress.output_bytes == len(expected)


def test_constraints_and_samples_of_a_job_are_the_same_after_json(tiny_checkpoint: Path) -> None:
    constraints = Constraints(min_length=3, forbidden=(Forbidden(7), Forbidden(8, 2)))
    settings = Engine(tiny_checkpoint, 4, 0.6, sampling=Sampling(top_p=0.5), constraints=constraints).settings()
    assert json.loads(json.dumps(settings)) == settings
    for other in (Engine(tiny_checkpoint, 4, 0.6), Engine(tiny_checkpoint, 4, 0.6, sampling=Sampling())):
        assert settings != other.settings()
