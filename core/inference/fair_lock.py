"""A re-entrant lock that threads acquire in the order of their requests, those with little to compute first."""

import threading
import time
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from typing import NamedTuple

LIGHT = 0.5  # seconds of holding locks, of late, from which a thread lets others go first; and of one turn
FORGOTTEN = 2.0  # seconds in which half of them are forgotten
MOST_AHEAD = 4  # threads in a row that may go ahead of one that has waited longer
COMES_BACK = 0.01  # seconds after which a thread that has released a lock does not request it again, as between passes


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
    in a row: between two passes of a long analysis a short request gets its turn, however many analyses wait. It keeps
    its turn, too: a search, with one pass soon after the other, waits for one pass of an analysis, not before each.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()  # protects the fields below; held briefly
        self._owner: int | None = None
        self._depth = 0
        self._since = 0.0  # when the owner has acquired it
        self._waiting: deque[_Waiting] = deque()
        self._ahead = 0  # threads in a row that went ahead of one that waits patiently
        self._last: int | None = None  # the owner, or the one before if the lock is free
        self._begun = 0.0  # when its turn began
        self._kept_until = 0.0  # for it to come back, while others wait patiently

    @property
    def num_waiting(self) -> int:
        """Number of threads waiting for the lock."""
        return len(self._waiting)

    def __enter__(self) -> None:
        thread = threading.get_ident()
        with self._guard:
            if self._owner == thread:
                self._depth += 1
                return
            waiting = _Waiting(thread, threading.Lock(), _own.is_patient or _own.of_late() > LIGHT)
            waiting.turn.acquire()
            self._waiting.append(waiting)
            self._pass_on()
        try:
            # until a thread makes this one the owner: it does so itself if nobody comes back
            while not waiting.turn.acquire(timeout=COMES_BACK if waiting.is_patient else -1):
                with self._guard:
                    self._pass_on()
        except BaseException:  # interrupted: do not leave the lock to a thread that no longer waits
            with self._guard:
                if waiting in self._waiting:
                    self._waiting.remove(waiting)
                else:
                    self._release(comes_back=False)
            raise

    def __exit__(self, *_: object) -> None:
        with self._guard:
            self._depth -= 1
            if not self._depth:
                _own.note(self._since)
                self._release(comes_back=not _own.is_patient and _own.of_late() <= LIGHT)

    def _release(self, comes_back: bool) -> None:
        self._owner, self._depth = None, 0
        self._kept_until = min(time.monotonic() + COMES_BACK, self._begun + LIGHT) if comes_back else 0.0
        self._pass_on()

    def _pass_on(self) -> None:
        """Make the thread whose turn it is the owner, if the lock is free; the caller holds the guard."""
        if self._owner is not None or not self._waiting:
            return
        place, now = 0, time.monotonic()
        if self._ahead < MOST_AHEAD:
            place = next((place for place, each in enumerate(self._waiting) if not each.is_patient), 0)
            if self._waiting[place].is_patient and now < self._kept_until:
                return
        following = self._waiting[place]
        del self._waiting[place]
        if following.thread != self._last or now >= self._kept_until:
            self._last, self._begun = following.thread, now
            self._ahead += 1
        if following.is_patient or not any(each.is_patient for each in self._waiting):
            self._ahead = 0
        self._owner, self._depth, self._since = following.thread, 1, now
        following.turn.release()
