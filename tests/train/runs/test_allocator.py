import ctypes
import sys
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext

import pytest

from core.files.process_memory import return_freed_memory
from tests.core.files.test_process_memory import resident
from train.runs.allocator import keep_freed_memory

M_MMAP_THRESHOLD = -3  # of glibc's mallopt


def free_and_return(sizes: Connection) -> None:
    """Send the bytes returned to the system before and after the call, of every other block of 64.

    A freed block between two used ones is not returned by itself.
    """
    libc = ctypes.CDLL(None)
    libc.mallopt(
        M_MMAP_THRESHOLD, 2**17
    )  # as at the start of a process: glibc has raised it while PyTorch was imported
    keep_freed_memory()
    libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    blocks = [libc.malloc(2**20) for _ in range(64)]
    for block in blocks:
        ctypes.memset(ctypes.c_void_p(block), 1, 2**20)
    used = resident()
    for block in blocks[::2]:
        libc.free(block)
    kept = resident()
    return_freed_memory()
    sizes.send((used - kept, kept - resident()))


@pytest.mark.skipif(sys.platform != "linux", reason="uses glibc")
def test_freed_memory_is_kept_until_it_is_returned(processes: ForkServerContext) -> None:
    """In a process of its own: the settings hold for all of it."""
    received, sent = processes.Pipe(duplex=False)
    process = processes.Process(target=free_and_return, args=(sent,))
    process.start()
    sent.close()
    returned_by_itself, returned_on_request = received.recv()
    process.join()
    assert returned_by_itself < 2**20
    assert returned_on_request > 24 * 2**20, "of 32, as the search for garbage copies pages of the parent process"
