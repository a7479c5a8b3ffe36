import os
import subprocess
import sys

import pytest

# A freed block between two used ones is not returned by itself: prints the pages returned before and after the call.
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


@pytest.mark.skipif(sys.platform != "linux", reason="uses glibc")
def test_freed_memory_is_kept_until_it_is_returned() -> None:
    printed = subprocess.run([sys.executable, "-c", FREE_AND_RETURN], capture_output=True, text=True, check=True).stdout
    returned_by_itself, returned_on_request = (int(pages) * os.sysconf("SC_PAGE_SIZE") for pages in printed.split())
    assert returned_by_itself < 2**20
    assert returned_on_request > 31 * 2**20
