"""Memory of a run on a CPU: freed memory is kept for the next step, but not piled up; kernels are kept for few
shapes.
"""

import ctypes
import os
import sys
from contextlib import suppress

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # of glibc's mallopt


def tune_memory() -> None:
    """To be called before the first step."""
    keep_freed_memory()
    bound_kernel_caches()


def keep_freed_memory() -> None:
    """Ask glibc to keep freed memory rather than give it back: the page faults of taking it anew cost a CPU run some
    5 %.
    """
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            libc = ctypes.CDLL(None)
            libc.mallopt(M_MMAP_MAX, 0)
            libc.mallopt(M_TRIM_THRESHOLD, 2**31 - 1)


def return_freed_memory() -> None:
    """Give the pages that lie free in the heap back to the system.

    Every step has tensors of other sizes, and validation and search have others again, which do not all fit where those
    before lay: kept for ever, free memory could only grow. Given back every few hundred steps, it costs next to
    nothing.
    """
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)


def bound_kernel_caches() -> None:
    """Let oneDNN keep its kernels for few shapes, unless the environment says otherwise.

    By default PyTorch and oneDNN keep about a thousand each. In bfloat16 on a CPU every batch of another length adds
    some, which costs a long run gigabytes; those of the last few steps are all that a run uses again.
    """
    for name in ("LRU_CACHE_CAPACITY", "ONEDNN_PRIMITIVE_CACHE_CAPACITY"):
        os.environ.setdefault(name, "128")
