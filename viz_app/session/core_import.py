"""Import of `core`, which takes seconds with PyTorch, so that the page is begun before it."""

import importlib

PACKAGES = ("core", "core.export")  # those with modules of their own that every page needs


def import_core() -> None:
    """Import the packages of `core`; call it before importing a module of one.

    While one thread imports the package `core`, another can import a module of it, but may have to wait for the whole
    package in the middle of that. If the first thread then needs this module, the two wait for each other, which Python
    ends with an ImportError in one of them (python/cpython#83065). The server and the sessions that begin while it
    starts are such threads. A thread that imports the package first only waits for it.
    """
    for name in PACKAGES:
        importlib.import_module(name)
