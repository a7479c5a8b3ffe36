"""Memory of closed models, which the C library would keep for later."""

import ctypes
import gc
import sys


def return_freed_memory() -> None:
    """Return memory that is not used any more to the system, where glibc allocates it."""
    gc.collect()
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
        trim(0)
