"""Worker processes: equal results for any number, and no hang if one dies."""

import multiprocessing
import os
import signal
from collections.abc import Iterator
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest

from core.cli.file_translation import workers
from core.cli.file_translation.cli import default_workers
from core.cli.file_translation.engine import Engine, threads_per_process
from core.cli.file_translation.workers import worker_pool


@pytest.fixture(scope="module")
def engine(tiny_checkpoint: Path) -> Engine:
    return Engine(tiny_checkpoint, beam_size=2, length_penalty=0.6)


BATCHES = [["A dog runs.", "No."], [], ["Where is the sea?"], ["A man."], ["It rains.", "It rains."]]


@pytest.fixture
def quick_start(processes: ForkServerContext, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork workers from a process with PyTorch: spawned ones take seconds to import it."""
    monkeypatch.setattr(workers, "START_METHOD", "forkserver")


@pytest.mark.usefixtures("quick_start")
def test_workers_translate_like_one_process(engine: Engine) -> None:
    translate = engine.load()
    with worker_pool(engine, 2) as translate_batches:
        assert dict(translate_batches(iter(BATCHES))) == dict(enumerate(map(translate, BATCHES)))
        assert dict(translate_batches(iter([]))) == {}
    assert multiprocessing.active_children() == []


@pytest.mark.usefixtures("quick_start")
def test_a_dead_worker_is_an_error(engine: Engine) -> None:
    def batches() -> Iterator[list[str]]:
        for number in range(100):
            if number == 10:
                os.kill(multiprocessing.active_children()[0].pid or 0, signal.SIGKILL)
            yield ["A dog runs."]

    message = r"worker process \d+ died \(killed by SIGKILL\): if memory ran out, use fewer --workers"
    with pytest.raises(ChildProcessError, match=message), worker_pool(engine, 2) as translate_batches:
        list(translate_batches(batches()))
    assert multiprocessing.active_children() == []


def test_a_worker_that_cannot_start_is_an_error_and_has_nothing_of_this_process(
    engine: Engine, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even the locks that this process holds: workers start here as they do for users."""

    def changed(_: Engine) -> None:
        raise AssertionError("the worker is a fork of this process")

    monkeypatch.setattr(Engine, "load", changed)
    missing = Engine(tmp_path / "missing.safetensors", engine.beam_size, engine.length_penalty)
    with (
        pytest.raises(ChildProcessError, match=r"died \(exit status 1\)"),
        worker_pool(missing, 1) as translate_batches,
    ):
        list(translate_batches(iter(BATCHES)))
    assert "there is no checkpoint" in capfd.readouterr().err


@pytest.mark.usefixtures("quick_start")
def test_an_error_in_a_worker_is_raised_here(engine: Engine) -> None:
    with (
        pytest.raises(ValueError, match="sentence 1: there is nothing to translate"),
        worker_pool(engine, 1) as translate_batches,
    ):
        list(translate_batches(iter([[" "]])))


@pytest.mark.parametrize(
    ("cores", "threads", "sentences", "workers"),
    [
        (1, 1, 4000, 1),
        (2, 1, 4000, 2),
        (2, 2, 4000, 1),
        (2, 4, 4000, 1),
        (64, 1, 4000, 64),
        (64, 8, 4000, 8),
        (64, 1, 5, 1),
        (64, 1, 350, 3),
    ],
)
def test_default_number_of_workers(cores: int, threads: int, sentences: int, workers: int) -> None:
    assert default_workers(cores, threads, sentences) == workers


def test_threads_follow_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.get_num_threads", lambda: 4)
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    assert threads_per_process() == 4
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert threads_per_process() == 1
