"""How many threads the app computes with, on machines and in containers of any size."""

import os
from pathlib import Path

import pytest

from viz_app.threads import MOST, chosen_threads, usable_cores


@pytest.mark.parametrize(
    ("cores", "asked", "threads"),
    [
        (1, None, 1),
        (2, None, 1),  # the other one is the browser's
        (8, None, 4),
        (128, None, MOST),
        (2, "1", 1),
        (8, "8", 8),
        (128, "6", 6),
        (2, "16", 2),  # threads that wait for one another on two cores
        (8, "3,1", 3),
        (8, "", 4),
        (8, "0", 4),
        (8, "many", 4),
    ],
)
def test_half_of_the_cores_is_the_browsers(cores: int, asked: str | None, threads: int) -> None:
    assert chosen_threads(cores, asked) == threads


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({}, 6),
        ({"cpu.max": "max 100000\n"}, 6),
        ({"cpu.max": "250000 100000\n"}, 2),
        ({"cpu.max": "50000 100000\n"}, 1),
        ({"cpu.max": "6400000 100000\n"}, 6),
        ({"cpu/cpu.cfs_quota_us": "300000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 3),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, 6),
    ],
)
def test_a_container_has_no_more_cores_than_its_quota(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], cores: int) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(6)), raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    assert usable_cores(tmp_path) == cores


def test_without_affinity_the_machine_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 12)
    assert usable_cores(tmp_path) == 12
