"""The memory of all models, results and passes of a process."""

import gc
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.files import process_memory
from core.files.budget import MIB, PROCESS_SHARE, UNKNOWN_MEMORY
from core.files.process_memory import NoRoomError, ProcessMemory, default_limit
from tests.core.inference.test_fair_lock import wait_until


class Thing:
    """An object that can be held."""


def test_what_never_fits_is_refused_at_once_and_says_what_helps() -> None:
    memory, model = ProcessMemory(100 * MIB), Thing()
    memory.hold(model, 60 * MIB)
    message = (
        r"^this pass of the model would take 41 MB, and open models and their results take 60 of the 100 MB that the "
        r"app may have: shorten the sentence, close a model, or start the app with HEADLIGHT_MEMORY_MB set to more$"
    )
    with pytest.raises(NoRoomError, match=message), memory.reserved(41 * MIB):
        pass
    with memory.reserved(40 * MIB) as reserve, pytest.raises(NoRoomError, match="would take 41 MB"):
        reserve(41 * MIB)
    del model
    gc.collect()
    with memory.reserved(100 * MIB):
        assert memory.held == 0


def test_a_pass_that_fits_later_waits_for_its_turn() -> None:
    memory, order = ProcessMemory(100), list[str]()
    threads: list[threading.Thread] = []

    def run(name: str, size: int) -> None:
        with memory.reserved(size):
            order.append(name)

    with memory.reserved(50):
        run("small", 50)
        for name, size in (("large", 51), ("after it", 1)):
            threads.append(threading.Thread(target=run, args=(name, size)))
            threads[-1].start()
            wait_until(lambda: memory.num_waiting == len(threads), "no thread waits for memory")
        assert order == ["small"]
    for thread in threads:
        thread.join(30)
    assert sorted(order[1:]) == ["after it", "large"]


def test_it_does_not_wait_for_ever_and_who_wants_more_gives_back_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_memory, "PATIENCE", 0.01)
    memory = ProcessMemory(100)
    message = "which computations of others have not given back for 0 seconds: try again, shorten the sentence, or"
    with memory.reserved(60), pytest.raises(NoRoomError, match=message), memory.reserved(50):
        pass
    with memory.reserved(100):
        assert memory.num_waiting == 0
    with memory.reserved(60) as reserve:  # so that two passes that grow do not wait for each other
        reserve(100)
        reserve(10)
        with memory.reserved(90), pytest.raises(NoRoomError), memory.reserved(1):
            pass


def test_results_that_are_kept_make_room() -> None:
    memory, kept, asked = ProcessMemory(100), [Thing(), Thing(), Thing()], list[str]()

    def drop() -> bool:
        asked.append("results")
        kept.pop()
        gc.collect()
        return bool(kept)

    memory.reclaim = (drop, lambda: bool(asked.append("models")))
    for thing in kept:
        memory.hold(thing, 30)
    del thing
    with memory.reserved(50):
        assert memory.held == 30
    assert asked == ["results"] * 2
    with pytest.raises(NoRoomError), memory.reserved(101):
        pass
    assert asked == ["results"] * 3 + ["models"]


def test_without_a_limit_nothing_is_counted() -> None:
    memory, thing = ProcessMemory(), Thing()
    memory.hold(thing, 10)
    with memory.reserved(10**15):
        assert memory.held == 0


@pytest.mark.parametrize(
    ("groups", "files", "limit"),
    [
        ("0::/a/b\n", {"a/memory.max": "2000000\n", "a/b/memory.max": "max\n"}, 2_000_000),
        ("0::/\n", {"memory.max": "3000000\n"}, 3_000_000),
        ("4:memory:/c\n0::/\n", {"memory/memory.limit_in_bytes": "4000000\n"}, 4_000_000),
        ("0::/\n", {}, None),
    ],
)
def test_the_default_is_a_share_of_what_the_machine_or_its_groups_have(
    groups: str, files: dict[str, str], limit: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "cgroup"
    own.write_text(groups)
    for name, text in files.items():
        path = tmp_path / "groups" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(process_memory, "OWN_CGROUPS", own)
    monkeypatch.setattr(process_memory, "CGROUPS", tmp_path / "groups")
    found = default_limit()
    assert found == int(limit * PROCESS_SHARE) if limit else found > 100 * MIB


def test_a_machine_that_does_not_tell_its_memory_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sysconf")
    monkeypatch.setattr(process_memory, "OWN_CGROUPS", tmp_path / "none")
    assert default_limit() == UNKNOWN_MEMORY * PROCESS_SHARE


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.fixture
def small_heap() -> Iterator[None]:
    """Without the objects of other tests, among which a search for garbage takes half a second."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc is asked for it")
def test_freed_memory_is_returned(small_heap: None) -> None:
    blocks: list[object] = [bytearray(100_000) for _ in range(1_000)]
    last = blocks.pop()  # at the end of the heap, which could not shrink by itself
    blocks.append(blocks)  # garbage that only a search for it finds
    del blocks
    before = resident()
    process_memory.return_freed_memory()
    assert before - resident() > 50_000_000
    assert isinstance(last, bytearray)
