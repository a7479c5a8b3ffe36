"""A re-entrant lock that threads acquire in the order of their requests."""

import threading
from collections import deque


class FairLock:
    """Like `threading.RLock`, but first come, first served.

    A thread that releases an `RLock` and requests it again at once, as a search does at every position, may acquire it
    before the waiting threads have woken up. This lock goes to the thread that has waited longest.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()  # protects the fields below; held briefly
        self._owner: int | None = None
        self._depth = 0
        self._waiting: deque[tuple[int, threading.Lock]] = deque()

    @property
    def num_waiting(self) -> int:
        """Number of threads waiting for the lock."""
        return len(self._waiting)

    def __enter__(self) -> None:
        thread = threading.get_ident()
        with self._guard:
            if self._owner in (None, thread):
                self._owner, self._depth = thread, self._depth + 1
                return
            turn = threading.Lock()
            turn.acquire()
            self._waiting.append((thread, turn))
        try:
            turn.acquire()  # until `__exit__` of another thread makes this one the owner
        except BaseException:  # interrupted: do not leave the lock to a thread that no longer waits
            with self._guard:
                if (thread, turn) in self._waiting:
                    self._waiting.remove((thread, turn))
                else:
                    self._pass_on()
            raise

    def __exit__(self, *_: object) -> None:
        with self._guard:
            self._depth -= 1
            if not self._depth:
                self._pass_on()

    def _pass_on(self) -> None:
        """Make the thread that has waited longest the owner; the caller holds the guard."""
        self._owner, self._depth = None, 0
        if self._waiting:
            self._owner, turn = self._waiting.popleft()
            self._depth = 1
            turn.release()
