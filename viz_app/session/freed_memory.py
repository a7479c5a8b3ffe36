"""Memory of closed models, returned to the system, as the C library would keep it for later."""

import ctypes
import gc
import sys


def return_freed_memory() -> None:
    """Return unused memory to the system, if glibc allocates it."""
    gc.collect()
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
        trim(0)
