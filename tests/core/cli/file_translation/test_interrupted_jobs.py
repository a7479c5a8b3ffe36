"""An interrupted job, when resumed, writes the same bytes as an uninterrupted one."""

import io
import multiprocessing
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stderr
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from core.cli import commands as cli
from core.cli.file_translation import lines, workers
from core.cli.file_translation.job_output import progress_path

WORDS = "a dog runs through the green grass and two children are playing with red ball"


def program(arguments: list[str], stderr: Path, start_method: str) -> None:
    """The command line with small windows, in a process group of its own.

    Args:
        start_method: of its workers. By `forkserver` they share one import of PyTorch. By `fork` they need none, but
            hold what this process has locked, even when it is killed.
    """
    os.setsid()
    multiprocessing.get_context("forkserver").set_forkserver_preload(["core.cli.commands"])
    workers.START_METHOD = start_method
    with stderr.open("w") as file:
        os.dup2(file.fileno(), 2)
    lines.WINDOW_LINES = 20
    sys.exit(cli.main(arguments))


@pytest.fixture(scope="module")
def text() -> bytes:
    generator = random.Random(3)
    text = [" ".join(generator.choices(WORDS.split(), k=generator.randrange(12))).encode() for _ in range(130)]
    text[7], text[60], text[129] = b"b\xffd", b"x" * 600, b"no line end"
    return b"\n".join(text)


class Job:
    """`translate` from a file to a file, with small windows."""

    def __init__(self, folder: Path, checkpoint: Path, text: bytes) -> None:
        self.input, self.output, self.stderr = folder / "in.txt", folder / "out.txt", folder / "stderr.txt"
        self.input.write_bytes(text)
        files = ["--checkpoint", str(checkpoint), "--input", str(self.input), "--output", str(self.output)]
        self.arguments = ["translate", *files, "--beam-size", "2"]

    def run(self, *more: str) -> int:
        """Run in this process, and return the exit status."""
        return cli.main([*self.arguments, *more])

    def start(self, processes: ForkServerContext, *more: str, start_method: str = "forkserver") -> BaseProcess:
        process = processes.Process(target=program, args=([*self.arguments, *more], self.stderr, start_method))
        process.start()
        return process

    def wait_for_output(self, process: BaseProcess, num_bytes: int) -> None:
        """Wait until the output has this many bytes, or the process ends."""
        while process.is_alive() and not (self.output.exists() and self.output.stat().st_size >= num_bytes):
            time.sleep(0.002)

    def files(self) -> list[str]:
        """Names of all files of the job but its input and messages."""
        return [each.name for each in self.output.parent.iterdir() if each not in (self.input, self.stderr)]


@pytest.fixture(autouse=True)
def _small_windows(processes: ForkServerContext, monkeypatch: pytest.MonkeyPatch) -> None:
    """And workers that start quickly, in jobs of this process."""
    monkeypatch.setattr(lines, "WINDOW_LINES", 20)
    monkeypatch.setattr(workers, "START_METHOD", "forkserver")


@pytest.fixture
def job(tmp_path: Path, tiny_checkpoint: Path, text: bytes) -> Job:
    return Job(tmp_path, tiny_checkpoint, text)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory, tiny_checkpoint: Path, text: bytes) -> bytes:
    """The output of an uninterrupted job, in one process."""
    job = Job(tmp_path_factory.mktemp("whole"), tiny_checkpoint, text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "WINDOW_LINES", 20)
        assert job.run("--workers", "1") == 3
    assert job.files() == ["out.txt"]
    output = job.output.read_bytes()
    assert output.count(b"\n") == 130
    return output


def test_the_output_does_not_depend_on_the_number_of_workers(job: Job, expected: bytes) -> None:
    assert job.run("--workers", "3") == 3
    assert job.output.read_bytes() == expected


@pytest.mark.parametrize(("num_workers", "kills"), [("1", 4), ("2", 1)])
def test_killed_at_random_moments(
    job: Job, processes: ForkServerContext, expected: bytes, num_workers: str, kills: int
) -> None:
    generator = random.Random(int(num_workers))
    killed = 0
    for _ in range(kills):
        process = job.start(processes, "--workers", num_workers, "--resume")
        before = job.output.stat().st_size if job.output.exists() else 0
        job.wait_for_output(process, before + generator.randrange(1, len(expected) // 4))
        time.sleep(generator.uniform(0, 0.05))
        process.kill()
        process.join(60)
        killed += process.exitcode == -signal.SIGKILL
        assert expected.startswith(job.output.read_bytes())
    assert killed > 0
    if progress_path(job.output).exists():
        assert (
            job.run("--workers", num_workers, "--resume") == 3
        )  # although the lines without translation may come before
    assert job.output.read_bytes() == expected
    assert job.files() == ["out.txt"]


@pytest.mark.parametrize(("number", "num_workers"), [(signal.SIGINT, "2"), (signal.SIGTERM, "1")])
def test_stopped_by_a_signal(
    job: Job, processes: ForkServerContext, expected: bytes, number: signal.Signals, num_workers: str
) -> None:
    process = job.start(processes, "--workers", num_workers, start_method="fork")
    job.wait_for_output(process, 1)
    os.killpg(process.pid or 0, number)  # as Ctrl-C on a terminal does
    process.join(60)
    assert process.exitcode == 128 + number
    err = job.stderr.read_text()
    *_, advice, last = err.splitlines()
    assert advice.endswith(f"lines are written to {job.output}; the same command with --resume continues it")
    assert last == f"python -m core translate: stopped by {number.name}"
    assert "Traceback" not in err
    assert job.run() == 1  # needs --resume
    assert job.run("--resume") == 3
    assert job.output.read_bytes() == expected


WITH_ERROR = b"A dog.\n" * 100 + b"\xff\n" + b"A dog.\n" * 29


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory, tiny_checkpoint: Path) -> Path:
    """The folder of a job stopped by --strict after its fifth window, with short translations. Copy it."""
    job = Job(tmp_path_factory.mktemp("stopped"), tiny_checkpoint, WITH_ERROR)
    with pytest.MonkeyPatch.context() as patch, redirect_stderr(io.StringIO()) as err:
        patch.setattr(lines, "WINDOW_LINES", 20)
        patch.setattr("core.decoding.limits.MAX_EXTRA_TOKENS", 4)
        assert job.run("--strict", "--workers", "1") == 1
    assert err.getvalue().splitlines()[-2:] == [
        f"100 lines are written to {job.output}; the same command with --resume continues it",
        "python -m core translate: line 101 of the input is not UTF-8 text: byte 0xff at position 0; "
        "convert it to UTF-8",
    ]
    return job.output.parent


@pytest.fixture
def interrupted(stopped: Path, tmp_path: Path, tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    """The job of `stopped`, in a folder of its own."""
    monkeypatch.setattr("core.decoding.limits.MAX_EXTRA_TOKENS", 4)
    shutil.copytree(stopped, tmp_path, dirs_exist_ok=True)
    return Job(tmp_path, tiny_checkpoint, WITH_ERROR)


def test_resume_may_be_less_strict(interrupted: Job) -> None:
    assert interrupted.run("--resume") == 3
    written = interrupted.output.read_bytes().split(b"\n")
    assert [number for number, line in enumerate(written) if not line] == [100, 130]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text[:-10], None),
        (lambda text: text.replace(b"\xff", b"No."), None),
        (lambda text: b"B" + text[1:], "the first 100 lines of the input differ from those"),
        (lambda text: text[:70], "the first 100 lines of the input differ from those"),
        (lambda text: b"", "the first 100 lines of the input differ from those"),
    ],
)
def test_resume_needs_the_same_beginning(
    interrupted: Job, change: Callable[[bytes], bytes], message: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    interrupted.input.write_bytes(change(interrupted.input.read_bytes()))
    written = interrupted.output.read_bytes()
    assert (interrupted.run("--resume") == 1) == (message is not None)
    assert (message or "") in capsys.readouterr().err.splitlines()[-1]
    assert interrupted.output.read_bytes().startswith(written)
    assert progress_path(interrupted.output).exists() == (message is not None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "out.txt is not empty: add --resume to continue the job that wrote it, or remove it, or give another --"),
        (["--resume", "--beam-size", "3"], "out.txt was started with beam_size 2, this command has 3: give the same v"),
        (["--resume", "--n-best", "2"], "out.txt was started with no n_best, this command has 2: give the same value"),
        (["--resume", "--length-penalty", "1"], "out.txt was started with length_penalty 0.6, this command has 1.0: g"),
    ],
)
def test_jobs_that_cannot_be_resumed(
    interrupted: Job, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    written = interrupted.output.read_bytes()
    assert interrupted.run(*arguments) == 1
    assert message in capsys.readouterr().err.splitlines()[-1]
    assert interrupted.output.read_bytes() == written
