"""Two processes on the CPU, started by torchrun's agent, compared with one."""

import gc
import json
import os
import re
import shlex
import signal
import time
import weakref
from dataclasses import dataclass
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.distributed.run import get_args_parser

from core.app_server import HOST, free_port
from core.formats.checkpoint import load_checkpoint
from core.model.preset_configs import PRESETS
from tests.train.worker import LOG_EVERY, SNAPSHOT_EVERY, STEPS, launch, work
from train.data.batches import Position
from train.distributed import World, join
from train.recipe import Recipe
from train.runs.training_state import Training


def log_of(folder: Path) -> list[dict[str, Any]]:
    """The complete lines of the log."""
    path = folder / "log.jsonl"
    return (
        [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines(keepends=True) if line.endswith("\n")]
        if path.exists()
        else []
    )


def test_two_processes_one_of_them_killed_have_the_loss_curve_of_one(
    tmp_path: Path, prepared: Path, processes: ForkServerContext
) -> None:
    """Kill rank 0 in the middle: torchrun's agent restarts both processes, and the losses stay the same."""
    folder = tmp_path / "two"
    one = processes.Process(target=work, args=(prepared, tmp_path / "one", 2))
    two = processes.Process(target=launch, args=(2, prepared, folder))
    one.start()
    two.start()
    deadline = time.monotonic() + 300
    while not any(line["step"] > SNAPSHOT_EVERY for line in log_of(folder)):
        assert two.is_alive(), two.exitcode
        assert time.monotonic() < deadline
        time.sleep(0.01)
    first = int((folder / "pid-0").read_text())
    os.kill(first, signal.SIGKILL)
    for process in (one, two):
        process.join(600)
        assert process.exitcode == 0
    assert int((folder / "pid-0").read_text()) != first

    curves = [
        [(line["kind"], line["step"], line["nll"]) for line in log_of(tmp_path / name) if "nll" in line]
        for name in ("one", "two")
    ]
    assert len(curves[0]) == STEPS // LOG_EVERY + STEPS // SNAPSHOT_EVERY
    assert curves[0][0][2] - curves[0][-1][2] > 0.5  # something was learned
    assert [point[:2] for point in curves[0]] == [point[:2] for point in curves[1]]
    assert [point[2] for point in curves[1]] == pytest.approx([point[2] for point in curves[0]], rel=1e-5)
    hardware = [load_checkpoint(tmp_path / name / "best.safetensors").training["hardware"] for name in ("one", "two")]
    assert hardware[1] == f"2 x {hardware[0]}"


@dataclass(frozen=True)
class Half(World):
    """One of two processes; the other one is simulated."""

    def wrap(self, module: torch.nn.Module) -> torch.nn.Module:
        return module

    def gather(self, thing: Any) -> list[Any]:
        other = {"rows": [], "positions": []}
        return [thing, other] if self.rank == 0 else [other, thing]


@pytest.mark.parametrize("rank", [0, 1])
def test_every_process_restores_its_own_losses(rank: int, recipe: Recipe) -> None:
    world = Half(torch.device("cpu"), rank=rank, size=2)
    training = Training(PRESETS["tiny"], recipe, world)
    training.window.add(torch.tensor(1.0), torch.tensor(2.0), 3, Position())
    state = training.state()
    again = Training(PRESETS["tiny"], recipe, world)
    again.restore(state)
    assert again.window.state() == training.window.state()


def test_a_state_of_another_number_of_processes_is_restored(recipe: Recipe) -> None:
    alone = Training(PRESETS["tiny"], recipe, World(torch.device("cpu")))
    for parameter in alone.model.parameters():
        parameter.grad = torch.zeros_like(parameter) if parameter.requires_grad else None
    alone.optimizer.step()  # has moments from here on
    alone.step, alone.position = 7, Position(1, 2)
    half = Training(PRESETS["tiny"], recipe, Half(torch.device("cpu"), rank=1, size=2))
    half.restore(alone.state())
    assert (half.step, half.position) == (7, Position(1, 2))


def test_several_processes_on_mps_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with (
        pytest.raises(ValueError, match="several processes cannot train on mps together: give --device cpu"),
        join(torch.device("mps")),
    ):
        pass


def test_the_last_reference_to_a_group_is_one_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reducer of DistributedDataParallel, which may outlive the block, could wait for its threads forever."""
    place = ("MASTER_ADDR", HOST), ("MASTER_PORT", free_port())
    for name, value in (("WORLD_SIZE", 1), ("RANK", 0), *place):
        monkeypatch.setenv(name, str(value))
    with join(torch.device("cpu")) as world:
        group = weakref.ref(torch.distributed.group.WORLD)
        assert world.size == 1
    assert not torch.distributed.is_initialized()
    gc.collect()
    assert group() is not None


def test_a_single_process_needs_no_communication() -> None:
    world = World(torch.device("cpu"))
    assert world.is_first
    assert world.any(True)
    assert not world.any(False)
    assert world.gather("mine") == ["mine"]
    assert world.sum(torch.tensor([1.0, 2.0])).tolist() == [1.0, 2.0]
    world.wait()
    module = torch.nn.Linear(2, 2)
    assert world.wrap(module) is module


def test_torchrun_commands_of_the_guide_reach_fit() -> None:
    """torchrun accepts abbreviations of its own options, even after the module's name."""
    text = (Path(__file__).parents[2] / "docs" / "training.md").read_text(encoding="utf-8")
    commands = re.findall(r"^torchrun .*|(?<=`)torchrun [^`]*", text, re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        for short, number in (("=N", "=2"), ("=M", "=1"), ("...", "base --data data --run run")):
            command = command.replace(short, number)
        found = get_args_parser().parse_args(shlex.split(command)[1:])
        assert (found.module, found.training_script) == (True, "train")
        assert found.training_script_args[:2] == ["fit", "base"]
        assert "--run" in found.training_script_args
