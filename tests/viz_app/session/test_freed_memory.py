"""Memory of closed models goes back to the system."""

import gc
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from viz_app.session.freed_memory import return_freed_memory


def resident() -> int:
    """Bytes of memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


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
    return_freed_memory()
    assert before - resident() > 50_000_000
    assert isinstance(last, bytearray)
