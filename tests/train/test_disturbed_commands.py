"""Commands that are killed and run again, and commands whose clock jumps, write the same as undisturbed ones.

`KILLS=50 pytest -n 0 -s -k killed tests/train/test_disturbed_commands.py` kills each command at 50 random moments, with
`KILL_SIGNAL=SIGTERM` by another signal.
"""

import importlib
import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest
import tqdm

import core.decoding.limits
import train.data.preparation
import train.loop
from core.cli.file_translation import lines
from core.cli.file_translation.job_output import progress_path
from tests.train.conftest import contents
from tests.train.runs.test_resume import TIMES, Contents, assert_same_run
from train.runs.run_folder import RunFolder

KILLS = int(os.environ.get("KILLS", "1"))  # of each command
SIGNAL = signal.Signals[os.environ.get("KILL_SIGNAL", "SIGKILL")]
YEAR = 365 * 24 * 3600.0


def assert_same_files(one: Path, other: Path) -> None:
    assert contents(one) == contents(other)


def assert_same_training(one: Path, other: Path) -> None:
    """No temporary files are left, which may be large, and times are those of a few seconds though the clock jumps."""
    runs = Contents.of(one), Contents.of(other)
    assert_same_run(*runs)
    for folder, run in zip((one, other), runs, strict=True):
        lines = list(map(json.loads, (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()))
        assert min(line[name] for line in lines if line["kind"] == "train" for name in TIMES) >= 0
        hours = [*(line["hours"] for line in lines if "hours" in line), run.state["hours"]]
        assert hours == sorted(hours)
        assert hours[-1] < 1
    assert list(other.rglob(".*")) == []


def assert_same_mean(one: Path, other: Path) -> None:
    """Temporary files of a killed process may be left beside the checkpoint."""
    assert (one / "mean.safetensors").read_bytes() == (other / "mean.safetensors").read_bytes()


def is_translated(folder: Path) -> bool:
    """Whether an output is complete: then there is nothing to resume."""
    output = folder / "out.txt"
    return output.exists() and output.stat().st_size > 0 and not progress_path(output).exists()


@dataclass(frozen=True)
class Command:
    """A command line whose output is in one folder.

    Attributes:
        arguments: of the module's `main`, from the folder.
        assert_same: compares the folders of a run that was not killed and of one that was killed and run again.
        is_finished: whether a folder has all output although its process was killed, and cannot be run again.
    """

    module: str
    arguments: Callable[[Path], list[str]]
    assert_same: Callable[[Path, Path], None]
    is_finished: Callable[[Path], bool] = lambda _: False


def run_command(module: str, arguments: list[str], clock_jumps: bool) -> None:
    """Run a command line that writes its output in many small parts."""
    if clock_jumps:
        now, jumps = time.time, random.Random(0)
        time.time = tqdm.std.time = lambda: now() + jumps.uniform(-YEAR, YEAR)
    lines.WINDOW_LINES = train.data.preparation.CHUNK = 5
    train.loop.LOG_EVERY = 2
    core.decoding.limits.MAX_EXTRA_TOKENS = 4  # the model of `fit` has not learned to end a sentence
    with open(os.devnull, "w") as null:
        os.dup2(null.fileno(), 1)
        os.dup2(null.fileno(), 2)
    sys.exit(importlib.import_module(module).main(arguments))


@pytest.fixture(scope="module")
def commands(
    prepared: Path,
    tiny_checkpoint: Path,
    parallel_text: list[tuple[str, str]],
    run_history: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, Command]:
    """prepare, fit, average and translate, on tiny data."""
    inputs = tmp_path_factory.mktemp("inputs")
    for side, sentences in zip(("en", "de"), zip(*parallel_text, strict=True), strict=True):
        for name, part in (("train", sentences[:16] * 3), ("valid", sentences[16:]), ("text", sentences[:16])):
            (inputs / f"{name}.{side}").write_text("".join(f"{each}\n" for each in part), encoding="utf-8")
    texts = [
        f"--{part}{side}={inputs}/{name}.{language}"
        for name, part in (("train", ""), ("valid", "valid-"))
        for side, language in (("source", "en"), ("target", "de"))
    ]
    settings = ["--steps=3", "--snapshot-every=1", "--keep-snapshots=2", "--max-length=60", "--batch-tokens=300"]
    snapshots = [str(path) for path in sorted((run_history / "history").glob("*.safetensors"))]
    return {
        "prepare": Command(
            "train.__main__", lambda folder: ["prepare", str(folder), *texts, "--vocab-size", "400"], assert_same_files
        ),
        "fit": Command(
            "train.__main__",
            lambda folder: [
                *("fit", "tiny", "--data", str(prepared), "--run", str(folder), "--device", "cpu"),
                *("--precision", "bfloat16", *settings),
            ],
            assert_same_training,
        ),
        "average": Command(
            "train.__main__",
            lambda folder: ["average", *snapshots, "-o", str(folder / "mean.safetensors")],
            assert_same_mean,
        ),
        "translate": Command(
            "core.cli.commands",
            lambda folder: [
                *("translate", "--checkpoint", str(tiny_checkpoint), "--input", f"{inputs}/text.en"),
                *("--output", str(folder / "out.txt"), "--resume", "--workers", "1", "--beam-size", "2"),
            ],
            assert_same_files,
            is_translated,
        ),
    }


@pytest.fixture(scope="module", params=["prepare", "fit", "average", "translate"])
def command(request: pytest.FixtureRequest, commands: dict[str, Command]) -> Command:
    return commands[request.param]


Run = Callable[..., int | None]


@pytest.fixture(scope="module")
def run(command: Command, processes: ForkServerContext) -> Run:
    """`run(folder)`: run the command in a process, and return its exit status.

    Args:
        seconds: after which it is sent `SIGNAL`.
        clock_jumps: by up to a year at every look at it.
    """
    server = processes.Process(target=int)  # the first one waits until the server has imported the modules
    server.start()
    server.join()

    def run(folder: Path, seconds: float | None = None, clock_jumps: bool = False) -> int | None:
        folder.mkdir(exist_ok=True)
        process = processes.Process(target=run_command, args=(command.module, command.arguments(folder), clock_jumps))
        process.start()
        process.join(seconds)
        if process.is_alive():
            os.kill(process.pid or 0, SIGNAL)
        process.join()
        return process.exitcode

    return run


@dataclass(frozen=True)
class Whole:
    """The folder of a run that was not killed, and the seconds that it took."""

    folder: Path
    seconds: float


@pytest.fixture(scope="module")
def whole(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """A run of the command whose clock jumps: the others, which are compared with it, have a clock that does not."""
    folder, started = tmp_path_factory.mktemp("whole") / "whole", time.monotonic()
    assert run(folder, clock_jumps=True) == 0
    return Whole(folder, time.monotonic() - started)


def test_a_command_killed_at_any_moment_and_run_again_writes_the_same_as_with_a_clock_that_jumps(
    request: pytest.FixtureRequest,
    commands: dict[str, Command],
    command: Command,
    run: Run,
    whole: Whole,
    tmp_path: Path,
) -> None:
    """The first kill of each command is in another part of its run: of one when it begins, of one when it ends."""
    generator, killed, first_part = random.Random(request.node.name), 0, list(commands.values()).index(command)
    for number in range(4 * KILLS):  # some end before they are killed
        folder = tmp_path / f"killed-{number}"
        part = (first_part + number) % len(commands)
        status = run(folder, whole.seconds * (part + generator.random()) / len(commands))
        assert status in (0, -SIGNAL, 128 + SIGNAL)
        killed += status != 0
        if status and not command.is_finished(folder):
            assert run(folder) == 0
        command.assert_same(whole.folder, folder)
        shutil.rmtree(folder)
        if killed == KILLS:
            break
    print(f"{request.node.name}: killed {killed} times within {whole.seconds:.1f} s")
    assert killed > 0


def test_a_run_removes_temporary_files_of_a_killed_process(tmp_path: Path) -> None:
    left = [tmp_path / "snapshots" / ".step-00000004.safetensors.0a1b2c3d.part", tmp_path / ".state.pt.0a1b2c3d.part"]
    left[0].parent.mkdir()
    for path in left:
        path.touch()
    with RunFolder(tmp_path).locked():
        assert contents(tmp_path).keys() == {Path("lock")}
