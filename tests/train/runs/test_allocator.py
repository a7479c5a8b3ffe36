import os
import subprocess
import sys

import pytest

from train.runs.allocator import bound_kernel_caches

# A block freed between two that are in use cannot go back by itself: what is resident is printed before and after.
FREE_AND_RETURN = """
import ctypes, sys
from train.runs.allocator import keep_freed_memory, return_freed_memory

def resident():
    return int(open("/proc/self/statm").read().split()[1])

keep_freed_memory()
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
blocks = [libc.malloc(2**20) for _ in range(64)]
for block in blocks:
    ctypes.memset(ctypes.c_void_p(block), 1, 2**20)
used = resident()
for block in blocks[::2]:
    libc.free(block)
kept = resident()
return_freed_memory()
print(used - kept, kept - resident())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="asks glibc")
def test_freed_memory_is_kept_until_it_is_returned() -> None:
    printed = subprocess.run([sys.executable, "-c", FREE_AND_RETURN], capture_output=True, text=True, check=True).stdout
    went_by_itself, was_returned = (int(pages) * os.sysconf("SC_PAGE_SIZE") for pages in printed.split())
    assert went_by_itself < 2**20
    assert was_returned > 31 * 2**20


def test_kernel_caches_are_bounded_unless_the_environment_bounds_them_already(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LRU_CACHE_CAPACITY", raising=False)
    monkeypatch.setenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "7")
    bound_kernel_caches()
    assert (os.environ["LRU_CACHE_CAPACITY"], os.environ["ONEDNN_PRIMITIVE_CACHE_CAPACITY"]) == ("128", "7")
