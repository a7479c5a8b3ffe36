"""A re-entrant lock that threads acquire in the order of their requests, those with little to compute first."""

import threading
import time
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from typing import NamedTuple

LIGHT = 0.5  # seconds of holding locks, of late, from which a thread lets others go first
FORGOTTEN = 2.0  # seconds in which half of them are forgotten
MOST_AHEAD = 4  # threads in a row that may go ahead of one that has waited longer


class _Waiting(NamedTuple):
    thread: int
    turn: threading.Lock
    is_patient: bool


class _OfThread(threading.local):
    """What a thread has held of late, and whether it is patient anyway."""

    held = 0.0  # seconds, at `until`
    until = 0.0
    is_patient = False

    def of_late(self) -> float:
        """Seconds of holding locks, of which half are forgotten in `FORGOTTEN`."""
        return self.held * 0.5 ** ((time.monotonic() - self.until) / FORGOTTEN)

    def note(self, since: float) -> None:
        """Note that a lock was held until now."""
        now = time.monotonic()
        self.held, self.until = self.of_late() + now - since, now


_own = _OfThread()


@contextmanager
def patient() -> Generator[None]:
    """Let other threads acquire locks first inside the block: for a computation that takes long and has many passes."""
    before, _own.is_patient = _own.is_patient, True
    try:
        yield
    finally:
        _own.is_patient = before


class FairLock:
    """Like `threading.RLock`, but first come, first served.

    A thread that releases an `RLock` and requests it again at once, as a search does at every position, may acquire it
    before the waiting threads have woken up. This lock goes to the thread that has waited longest.

    Patient threads, and those that have held locks for some time of late, let the others go first, up to `MOST_AHEAD`
    in a row: between two passes of a long analysis a short request gets its turn, however many analyses wait.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()  # protects the fields below; held briefly
        self._owner: int | None = None
        self._depth = 0
        self._since = 0.0  # when the owner has acquired it
        self._waiting: deque[_Waiting] = deque()
        self._ahead = 0  # threads in a row that went ahead of the first that waits

    @property
    def num_waiting(self) -> int:
        """Number of threads waiting for the lock."""
        return len(self._waiting)

    def __enter__(self) -> None:
        thread = threading.get_ident()
        with self._guard:
            if self._owner in (None, thread):
                self._since = self._since if self._depth else time.monotonic()
                self._owner, self._depth = thread, self._depth + 1
                return
            waiting = _Waiting(thread, threading.Lock(), _own.is_patient or _own.of_late() > LIGHT)
            waiting.turn.acquire()
            self._waiting.append(waiting)
        try:
            waiting.turn.acquire()  # until `__exit__` of another thread makes this one the owner
        except BaseException:  # interrupted: do not leave the lock to a thread that no longer waits
            with self._guard:
                if waiting in self._waiting:
                    self._waiting.remove(waiting)
                else:
                    self._pass_on()
            raise

    def __exit__(self, *_: object) -> None:
        with self._guard:
            self._depth -= 1
            if not self._depth:
                _own.note(self._since)
                self._pass_on()

    def _pass_on(self) -> None:
        """Make the thread whose turn it is the owner; the caller holds the guard."""
        self._owner, self._depth = None, 0
        if self._waiting:
            place = next((place for place, each in enumerate(self._waiting) if not each.is_patient), 0)
            place = place if self._ahead < MOST_AHEAD else 0
            self._ahead = self._ahead + 1 if place else 0
            following = self._waiting[place]
            del self._waiting[place]
            self._owner, self._depth, self._since = following.thread, 1, time.monotonic()
            following.turn.release()
