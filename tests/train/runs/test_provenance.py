from pathlib import Path

import pytest
import torch

import train.runs.provenance
from train.distributed import World
from train.runs.provenance import hardware


def test_processors_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(train.runs.provenance, "CPU_INFO", tmp_path / "cpuinfo")
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    monkeypatch.setattr("platform.processor", lambda: "")
    world = World(torch.device("cpu"))
    assert hardware(world) == "CPU, 2 threads"
    (tmp_path / "cpuinfo").write_text(
        "processor\t: 0\nmodel name\t: A Processor 9000\n\nprocessor\t: 1\nmodel name\t: other\n", encoding="utf-8"
    )
    assert hardware(world) == "A Processor 9000, 2 threads"
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    assert hardware(World(torch.device("cpu"), rank=1, size=4)) == "4 x A Processor 9000, 1 thread"
