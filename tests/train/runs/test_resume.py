"""A CPU run that is killed and resumed ends with the same bits as an uninterrupted one."""

import json
import math
import os
import runpy
import shutil
import signal
import sys
import time
from collections.abc import Callable
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

import core.decoding.limits
import train.loop
import train.runs.log_writer
from tests.train.conftest import Fit
from train.runs.run_folder import RunFolder

TIMES = ("tokens_per_second", "seconds_per_step", "hours")


def log_of(folder: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    return [{name: value for name, value in line.items() if name not in TIMES} for line in lines]


class Contents(NamedTuple):
    """The files that a run has written, without measured times."""

    log: list[dict[str, Any]]
    parameters: dict[Path, dict[str, Tensor]]  # of each checkpoint
    state: dict[str, Any]

    @classmethod
    def of(cls, run: Path) -> "Contents":
        checkpoints = [*sorted((run / "snapshots").glob("*.safetensors")), run / "best.safetensors"]
        parameters = {path.relative_to(run): load_file(path) for path in checkpoints}
        return cls(log_of(run), parameters, torch.load(run / "state.pt", weights_only=True))


def assert_same_run(one: Contents, other: Contents) -> None:
    assert one.log == other.log
    assert one.parameters.keys() == other.parameters.keys()
    for name, expected in one.parameters.items():
        found = other.parameters[name]
        assert found.keys() == expected.keys()
        assert all(torch.equal(found[parameter], value) for parameter, value in expected.items()), name
    assert one.state.keys() == other.state.keys()
    for name in ("step", "position", "windows", "best_nll"):
        assert one.state[name] == other.state[name]


def test_a_kill_before_any_write_is_harmless(tmp_path: Path, run_fit: Fit, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are renamed by `os.replace`: resume in the folder as it was before each call."""
    monkeypatch.setattr(train.loop, "LOG_EVERY", 1)
    settings = {"steps": 2, "snapshot_every": 1, "keep_snapshots": 1}
    whole, replace, killed = tmp_path / "whole", os.replace, list[Path]()

    def copy_and_replace(source: Path, target: Path) -> None:
        killed.append(shutil.copytree(whole, tmp_path / f"killed-{len(killed)}"))
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", copy_and_replace)
        run_fit(whole, **settings)
    expected = Contents.of(whole)
    for folder in killed:
        run_fit(folder, **settings)
        assert_same_run(expected, Contents.of(folder))
    assert len(killed) > 5  # the recipe, and twice snapshot, state and maybe the best


def fit_arguments(data: Path, folder: Path) -> list[str]:
    settings = ["--steps=8", "--snapshot-every=4", "--max-length=60", "--batch-tokens=300", "--precision=bfloat16"]
    return ["fit", "tiny", "--data", str(data), "--run", str(folder), "--device", "cpu", *settings]


def kill_when(process: BaseProcess, happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 300
    while not happened():
        assert process.is_alive(), process.exitcode
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.kill()
    process.join()
    assert process.exitcode == -signal.SIGKILL


def test_a_killed_process_resumes_to_the_same_bits(tmp_path: Path, prepared: Path, processes: ForkServerContext):
    """All processes run `python -m train`."""
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    uninterrupted, first, second, last = (
        processes.Process(target=run_module, args=(fit_arguments(prepared, folder),))
        for folder in (whole, killed, killed, killed)
    )
    uninterrupted.start()
    first.start()
    kill_when(first, (killed / "snapshots" / "step-00000004.safetensors").exists)  # its state may be saved or not
    second.start()
    kill_when(second, lambda: any(line["step"] == 5 for line in log_of_running(killed)))
    last.start()
    for process in (uninterrupted, last):
        process.join(300)
        assert process.exitcode == 0
    assert_same_run(Contents.of(whole), Contents.of(killed))


def run_module(arguments: list[str]) -> None:
    """`python -m train`, in this process, with a line of the log for every fifth step."""
    train.loop.LOG_EVERY, train.runs.log_writer.SHOWN_EVERY = 5, math.inf
    core.decoding.limits.MAX_EXTRA_TOKENS = 1  # the fixture that limits samples is not in this process
    sys.argv = ["train", *arguments]
    runpy.run_module("train", run_name="__main__")


def log_of_running(folder: Path) -> list[dict[str, Any]]:
    try:
        return log_of(folder)
    except (OSError, ValueError):  # not there yet, or a partial line
        return []


def test_a_stopped_run_saves_its_state_and_resumes_to_the_same_bits(
    tmp_path: Path, prepared: Path, run_fit: Fit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The state is saved between snapshots."""
    monkeypatch.setattr(train.loop, "LOG_EVERY", 4)
    settings = {"steps": 4, "snapshot_every": 4}
    run_fit(tmp_path / "whole", **settings)
    advance = train.loop.Training.advance

    def stop(training: train.loop.Training, step: int, *rest: Any) -> None:
        if step == 2:
            signal.raise_signal(signal.SIGTERM)
        advance(training, step, *rest)

    monkeypatch.setattr(train.loop.Training, "advance", stop)
    with pytest.raises(
        train.loop.StoppedError,
        match=r"stopped after step 2 of 4: run the same command to resume\. The last snapshot is .*2",
    ) as stopped:
        run_fit(tmp_path / "stopped", **settings)
    RunFolder(tmp_path / "stopped").snapshot(2).unlink()  # which the whole run has not
    assert stopped.value.signal_number == signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    monkeypatch.setattr(train.loop.Training, "advance", advance)
    run_fit(tmp_path / "stopped", **settings)
    assert_same_run(Contents.of(tmp_path / "whole"), Contents.of(tmp_path / "stopped"))
