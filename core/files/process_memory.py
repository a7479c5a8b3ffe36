"""Memory that the models of a process, what is kept of their passes, and passes under way take together.

`core.files.budget` limits what one file or sentence may take; here is the sum over all visitors of an app, which sets
`PROCESS.limit`. Without a limit nothing is counted: a command has its machine for itself.

Sizes are computed, not measured: parameters, attention weights, and what a pass will keep by its model and its lengths.
"""

import ctypes
import gc
import os
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from core.files.budget import MIB, PROCESS_SHARE, UNKNOWN_MEMORY

VARIABLE = "HEADLIGHT_MEMORY_MB"  # by which the app's limit is set
PATIENCE = 30.0  # seconds that a pass waits for those under way
PASS, SHORTER = "this pass of the model", "shorten the sentence"
SMALLER = "use a smaller model"
CGROUPS = Path("/sys/fs/cgroup")
OWN_CGROUPS = Path("/proc/self/cgroup")


class NoRoomError(ValueError):
    """Something would take more memory than the process may have; the message says what helps."""


class ProcessMemory:
    """Bytes of objects that are held, and of passes that have reserved some.

    Attributes:
        limit: of all together; None: nothing is counted.
        reclaim: called in their order while room is missing, each until it returns False: they let go of objects.
    """

    def __init__(self, limit: int | None = None, reclaim: Sequence[Callable[[], bool]] = ()) -> None:
        self.limit, self.reclaim = limit, reclaim
        self._sizes: dict[int, int] = {}  # of objects that live, by their id
        self._reserved = 0
        self._changed = threading.Condition()
        self._waiting: deque[object] = deque()

    @property
    def held(self) -> int:
        """Bytes of all objects that live."""
        return sum(list(self._sizes.values()))

    @property
    def num_waiting(self) -> int:
        """Number of requests that wait for memory."""
        return len(self._waiting)

    def hold(self, thing: object, size: int) -> None:
        """Count an object until it is garbage."""
        if self.limit is not None:
            key = id(thing)
            self._sizes[key] = size
            weakref.finalize(thing, self._sizes.pop, key, None).atexit = False

    def make_room(self, size: int = 0, what: str = PASS, advice: str = SHORTER) -> None:
        """Free memory until so many bytes fit beside the objects that are held.

        Raises:
            NoRoomError: there is not as much; the message names what needs it, and has the advice.
        """
        for free in self.reclaim:
            is_more = True
            while is_more and not self._fits(size):
                is_more = free()
                return_freed_memory()
        if not self._fits(size):
            raise NoRoomError(
                f"{what} would take {_megabytes(size)} MB, and open models and their results take "
                f"{_megabytes(self.held)} of the {_megabytes(self.limit or 0)} MB that the app may have: {advice}, "
                f"close a model, or start the app with {VARIABLE} set to more"
            )

    @contextmanager
    def reserved(self, size: int = 0, what: str = PASS, advice: str = SHORTER) -> Generator[Callable[[int], None]]:
        """Reserve memory inside the block, after that of earlier requests where it does not fit beside them.

        Yields:
            Reserves another number of bytes instead.

        Raises:
            NoRoomError: it would never fit, or does not within `PATIENCE`; the message is as of `make_room`.
        """
        own = 0

        def reserve(wanted: int) -> None:
            nonlocal own
            if self.limit is None:
                return
            # What is reserved is given back first, so that no two wait for each other.
            own = self._exchange(own, 0)
            self.make_room(wanted, what, advice)
            own = self._wait(wanted, what, advice)

        try:
            reserve(size)
            yield reserve
        finally:
            self._exchange(own, 0)

    def _fits(self, size: int) -> bool:
        return self.limit is None or self.held + size <= self.limit

    def _exchange(self, before: int, after: int) -> int:
        with self._changed:
            self._reserved += after - before
            self._changed.notify_all()
        return after

    def _wait(self, size: int, what: str, advice: str) -> int:
        """Reserve memory in the order of requests."""
        turn = object()
        with self._changed:
            self._waiting.append(turn)
            try:
                free = self._changed.wait_for(
                    lambda: self._waiting[0] is turn and self._fits(self._reserved + size), PATIENCE
                )
                self._reserved += size if free else 0
            finally:
                self._waiting.remove(turn)
                self._changed.notify_all()
        if not free:
            raise NoRoomError(
                f"{what} would take {_megabytes(size)} MB, which computations of others have not given back for "
                f"{PATIENCE:.0f} seconds: try again, {advice}, or start the app with {VARIABLE} set to more"
            )
        return size


PROCESS = ProcessMemory()


def return_freed_memory() -> None:
    """Return the memory of what is garbage to the system, if glibc allocates it, which would keep it for later."""
    gc.collect()
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
        trim(0)


def default_limit() -> int:
    """`PROCESS_SHARE` of the memory of this machine, or of the cgroups that this process is in."""
    sizes: list[int] = []
    with suppress(AttributeError, OSError, ValueError):  # other systems
        sizes.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with suppress(OSError):
        for line in OWN_CGROUPS.read_text().splitlines():
            _, kinds, path = line.split(":", 2)
            root, name = (CGROUPS, "memory.max") if not kinds else (CGROUPS / "memory", "memory.limit_in_bytes")
            folder = root / path.strip("/")
            for each in (folder, *folder.parents):
                if each.is_relative_to(root):
                    sizes += _limit_in(each / name)
    return int(min(sizes, default=UNKNOWN_MEMORY) * PROCESS_SHARE)


def _limit_in(path: Path) -> list[int]:
    try:
        text = path.read_text().strip()
    except OSError:
        return []
    return [int(text)] if text.isdecimal() else []  # "max" is no limit


def _megabytes(size: int) -> str:
    return f"{size // MIB:,}"
