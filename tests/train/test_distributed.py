"""Two processes on the CPU, as `torchrun` starts them, against one."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.distributed.run import get_args_parser

from core.checkpoint import load_checkpoint
from core.config import PRESETS
from train.data import Position
from train.distributed import World
from train.recipe import Recipe
from train.state import Training

STEPS, SNAPSHOT_EVERY, LOG_EVERY = 60, 20, 5

WORKER = f"""
import os, sys
from dataclasses import replace
from pathlib import Path
import torch
import train.loop
from core.config import PRESETS
from train.recipe import recipe_for

data, folder, accumulate = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
if "RANK" in os.environ:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"pid-{{os.environ['RANK']}}").write_text(str(os.getpid()))
train.loop.LOG_EVERY = {LOG_EVERY}
config = replace(PRESETS["tiny"], vocab_size=400, num_encoder_layers=1, num_decoder_layers=1, dropout=0.0)
changes = dict(steps={STEPS}, snapshot_every={SNAPSHOT_EVERY}, batch_tokens=200, max_length=60, precision="float32", accumulate=accumulate)
train.loop.fit("tiny", config, replace(recipe_for("tiny"), rate_scale=0.2, **changes), data, folder, torch.device("cpu"))
"""


def start(script: Path, data: Path, folder: Path, *, processes: int) -> "subprocess.Popen[bytes]":
    """A run whose steps see two batches, whatever the number of processes."""
    script.write_text(WORKER, encoding="utf-8")
    torchrun = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}", "--max-restarts=2", "--monitor-interval=0.1"]
    arguments = [str(script), str(data), str(folder), str(2 // processes)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, *(torchrun if processes > 1 else []), *arguments]
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def log_of(folder: Path) -> list[dict[str, Any]]:
    """The whole lines that are there."""
    path = folder / "log.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines(keepends=True) if line.endswith("\n")] if path.exists() else []


def finished(process: "subprocess.Popen[bytes]") -> None:
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors.decode()[-3000:]


def test_two_processes_one_of_them_killed_have_the_loss_curve_of_one(tmp_path: Path, prepared: Path) -> None:
    """Kill the process that writes, in the middle: torchrun starts both again, and the run ends as if nothing had happened."""
    one = start(tmp_path / "one.py", prepared, tmp_path / "one", processes=1)
    folder = tmp_path / "two"
    two = start(tmp_path / "two.py", prepared, folder, processes=2)
    deadline = time.monotonic() + 300
    while not any(line["step"] > SNAPSHOT_EVERY for line in log_of(folder)):
        assert two.poll() is None, two.stderr.read().decode()[-3000:] if two.stderr else ""
        assert time.monotonic() < deadline
        time.sleep(0.002)
    first = int((folder / "pid-0").read_text())
    os.kill(first, signal.SIGKILL)
    finished(one)
    finished(two)
    assert int((folder / "pid-0").read_text()) != first

    curves = [[(line["kind"], line["step"], line["nll"]) for line in log_of(tmp_path / name) if "nll" in line] for name in ("one", "two")]
    assert len(curves[0]) == STEPS // LOG_EVERY + STEPS // SNAPSHOT_EVERY
    assert curves[0][0][2] - curves[0][-1][2] > 0.5  # something was learned
    assert [point[:2] for point in curves[0]] == [point[:2] for point in curves[1]]
    assert [point[2] for point in curves[1]] == pytest.approx([point[2] for point in curves[0]], rel=2e-3)
    hardware = [load_checkpoint(tmp_path / name / "best.safetensors").training["hardware"] for name in ("one", "two")]
    assert hardware[1] == f"2 x {hardware[0]}"


@dataclass(frozen=True)
class Half(World):
    """One of two processes, whose other half is only made believe: what it would say is what this one says, marked."""

    def wrap(self, module: torch.nn.Module) -> torch.nn.Module:
        return module

    def gather(self, thing: Any) -> list[Any]:
        other = {"rows": [], "positions": []} if isinstance(thing, dict) else thing if thing is None else torch.zeros_like(thing)
        return [thing, other] if self.rank == 0 else [other, thing]


@pytest.mark.parametrize("rank", [0, 1])
def test_every_process_gets_its_own_random_generator_back(rank: int, recipe: Recipe) -> None:
    world = Half(torch.device("cpu"), rank=rank, size=2)
    training = Training(PRESETS["tiny"], recipe, world)
    training.window.add(torch.tensor(1.0), torch.tensor(2.0), 3, Position())
    state = training.state()
    drawn = torch.rand(5)
    again = Training(PRESETS["tiny"], recipe, world)
    again.restore(state)
    assert torch.equal(torch.rand(5), drawn)
    assert again.window.state() == training.window.state()


def test_processes_begin_with_the_same_parameters_and_different_dropout(recipe: Recipe) -> None:
    begun: list[tuple[torch.Tensor, torch.Tensor]] = []
    for rank in range(2):
        training = Training(PRESETS["tiny"], recipe, Half(torch.device("cpu"), rank=rank, size=2))
        begun.append((torch.nn.utils.parameters_to_vector(training.model.parameters()), torch.rand(5)))
    assert torch.equal(begun[0][0], begun[1][0])
    assert not torch.equal(begun[0][1], begun[1][1])


def test_a_state_of_another_number_of_processes_can_be_gone_on_from(recipe: Recipe) -> None:
    alone = Training(PRESETS["tiny"], recipe, World(torch.device("cpu")))
    alone.step, alone.position = 7, Position(1, 2)
    half = Training(PRESETS["tiny"], recipe, Half(torch.device("cpu"), rank=1, size=2))
    half.restore(alone.state())
    assert (half.step, half.position) == (7, Position(1, 2))


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


def test_commands_of_the_readme_reach_fit_as_they_are_written() -> None:
    """torchrun takes what looks like its own option, abbreviated, even behind the module's name."""
    text = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^torchrun .*|(?<=`)torchrun [^`]*", text, re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        for short, number in (("=N", "=2"), ("=M", "=1"), ("...", "base --data data --run run")):
            command = command.replace(short, number)
        found = get_args_parser().parse_args(shlex.split(command)[1:])
        assert (found.module, found.training_script) == (True, "train")
        assert found.training_script_args[:2] == ["fit", "base"]
        assert "--run" in found.training_script_args
