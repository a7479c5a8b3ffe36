"""Two processes on the CPU, as `torchrun` starts them, against one."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from core.checkpoint import load_checkpoint
from train.distributed import World

STEPS, SNAPSHOT_EVERY, LOG_EVERY = 60, 20, 5

WORKER = f"""
import os, sys
from dataclasses import replace
from pathlib import Path
import torch
import train.loop
from core.config import PRESETS
from train.recipe import recipe_for

data, folder, accumulate, dropout = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
if "RANK" in os.environ:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"pid-{{os.environ['RANK']}}").write_text(str(os.getpid()))
train.loop.LOG_EVERY = {LOG_EVERY}
config = replace(PRESETS["tiny"], vocab_size=400, num_encoder_layers=1, num_decoder_layers=1, dropout=dropout)
changes = dict(steps={STEPS}, snapshot_every={SNAPSHOT_EVERY}, batch_tokens=200, max_length=60, precision="float32", accumulate=accumulate)
train.loop.fit("tiny", config, replace(recipe_for("tiny"), rate_scale=0.2, **changes), data, folder, torch.device("cpu"))
"""


def start(script: Path, data: Path, folder: Path, *, processes: int, dropout: float) -> "subprocess.Popen[bytes]":
    """A run whose steps see two batches, whatever the number of processes."""
    script.write_text(WORKER, encoding="utf-8")
    torchrun = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}", "--max-restarts=2", "--monitor-interval=0.1"]
    arguments = [str(script), str(data), str(folder), str(2 // processes), str(dropout)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, *(torchrun if processes > 1 else []), *arguments]
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def log_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()]


def finished(process: "subprocess.Popen[bytes]") -> None:
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors.decode()[-3000:]


def test_two_processes_have_the_loss_curve_of_one(tmp_path: Path, prepared: Path) -> None:
    one = start(tmp_path / "one.py", prepared, tmp_path / "one", processes=1, dropout=0.0)
    two = start(tmp_path / "two.py", prepared, tmp_path / "two", processes=2, dropout=0.0)
    finished(one)
    finished(two)
    curves = [[line["nll"] for line in log_of(tmp_path / name) if "nll" in line] for name in ("one", "two")]
    assert len(curves[0]) == STEPS // LOG_EVERY + STEPS // SNAPSHOT_EVERY
    assert curves[0][0] - curves[0][-1] > 0.5  # something was learned
    assert curves[1] == pytest.approx(curves[0], rel=2e-3)
    hardware = [load_checkpoint(tmp_path / name / "best.safetensors").training["hardware"] for name in ("one", "two")]
    assert hardware[1] == f"2 x {hardware[0]}"


def test_a_killed_process_is_started_again_as_if_nothing_had_happened(tmp_path: Path, prepared: Path) -> None:
    """With dropout, so that every process must get its own random generator back."""
    unharmed = start(tmp_path / "unharmed.py", prepared, tmp_path / "unharmed", processes=2, dropout=0.1)
    finished(unharmed)
    folder = tmp_path / "harmed"
    harmed = start(tmp_path / "harmed.py", prepared, folder, processes=2, dropout=0.1)
    deadline = time.monotonic() + 300
    while not (folder / "log.jsonl").exists() or not any(f'"step": {SNAPSHOT_EVERY + LOG_EVERY},' in line for line in (folder / "log.jsonl").open()):
        assert harmed.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.002)
    first = int((folder / "pid-0").read_text())
    os.kill(first, signal.SIGKILL)
    finished(harmed)
    assert int((folder / "pid-0").read_text()) != first
    ends = [load_checkpoint(tmp_path / name / "snapshots" / f"step-{STEPS:08d}.safetensors").model for name in ("unharmed", "harmed")]
    assert all(torch.equal(*pair) for pair in zip(*(model.parameters() for model in ends), strict=True))
    curves = [[(line["step"], line["nll"]) for line in log_of(tmp_path / name) if "nll" in line] for name in ("unharmed", "harmed")]
    assert curves[0] == curves[1]


def test_alone_there_is_nobody_to_ask() -> None:
    world = World(torch.device("cpu"))
    assert world.is_first
    assert world.any(True)
    assert not world.any(False)
    assert world.gather("mine") == ["mine"]
    assert world.sum(torch.tensor([1.0, 2.0])).tolist() == [1.0, 2.0]
    world.wait()
    module = torch.nn.Linear(2, 2)
    assert world.wrap(module) is module
