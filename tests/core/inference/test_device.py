import os
from pathlib import Path

import pytest
import torch

from core.inference.device import best_device, supports_bfloat16, usable_cores
from core.translator import Translator


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch):
    """`machine(cuda=2, mps=True)`: devices that PyTorch reports."""
    monkeypatch.delenv("HEADLIGHT_DEVICE", raising=False)

    def have(cuda: int = 0, mps: bool = False) -> None:
        monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda > 0)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: cuda)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)

    return have


def test_cuda_comes_before_mps_and_mps_before_the_cpu(machine) -> None:
    for cuda, mps, expected in ((1, True, "cuda"), (1, False, "cuda"), (0, True, "mps"), (0, False, "cpu")):
        machine(cuda, mps)
        assert best_device() == torch.device(expected)


def test_a_choice_is_obeyed_and_an_argument_goes_before_the_environment(machine, monkeypatch: pytest.MonkeyPatch):
    machine(cuda=2)
    monkeypatch.setenv("HEADLIGHT_DEVICE", "cuda:1")
    assert best_device() == torch.device("cuda:1")
    assert best_device("cpu") == torch.device("cpu")
    assert best_device(torch.device("cuda:0")) == torch.device("cuda:0")


def test_on_cuda_no_attention_is_planned_by_cudnn(machine) -> None:
    before = torch.backends.cuda.cudnn_sdp_enabled()
    try:
        torch.backends.cuda.enable_cudnn_sdp(True)
        machine()
        best_device()
        assert torch.backends.cuda.cudnn_sdp_enabled()
        machine(cuda=1)
        best_device()
        assert not torch.backends.cuda.cudnn_sdp_enabled()
    finally:
        torch.backends.cuda.enable_cudnn_sdp(before)


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ("mps", "this machine has no device mps, or PyTorch cannot use it: choose from cuda, cpu"),
        ("cuda:2", "this machine has no device cuda:2, .*: choose from cuda, cpu"),
        ("cpu:1", "this machine has no device cpu:1"),
        ("meta", "this machine has no device meta"),
        ("abacus", r"device \(abacus\) must be cuda, cuda:N, mps or cpu"),
    ],
)
def test_a_device_that_is_not_there_is_refused(machine, monkeypatch: pytest.MonkeyPatch, chosen: str, message: str):
    machine(cuda=2)
    with pytest.raises(ValueError, match=message):
        best_device(chosen)
    monkeypatch.setenv("HEADLIGHT_DEVICE", chosen)
    with pytest.raises(ValueError, match=message):
        best_device()


def test_a_checkpoint_is_loaded_to_the_device_that_is_chosen(
    machine, tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine()
    assert Translator.from_checkpoint(tiny_checkpoint).model.device == torch.device("cpu")
    monkeypatch.setenv("HEADLIGHT_DEVICE", "mps")
    with pytest.raises(ValueError, match="this machine has no device mps"):
        Translator.from_checkpoint(tiny_checkpoint)


def test_mps_computes_in_bfloat16_from_macos_14_on(monkeypatch: pytest.MonkeyPatch) -> None:
    for version, expected in (((13, 6), False), ((14, 0), True), ((15, 2), True)):
        monkeypatch.setattr(torch.backends.mps, "is_macos_or_newer", lambda *wanted, version=version: version >= wanted)
        assert supports_bfloat16(torch.device("mps")) == expected
    assert supports_bfloat16(torch.device("cpu"))


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system has no affinities")
def test_cores_that_this_process_may_not_use_do_not_count(tmp_path: Path) -> None:
    allowed = os.sched_getaffinity(0)
    assert usable_cores(tmp_path) == len(allowed)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert usable_cores(tmp_path) == 1
    finally:
        os.sched_setaffinity(0, allowed)


def test_without_affinities_every_core_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    for cores, expected in ((6, 6), (None, 1)):
        monkeypatch.setattr(os, "cpu_count", lambda cores=cores: cores)
        assert usable_cores(tmp_path) == expected


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
def test_a_container_has_no_more_cores_than_its_quota(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], cores: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(6)), raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    assert usable_cores(tmp_path) == cores
