"""A lock whose turns are taken in the order in which they were asked for."""

import threading
from collections import deque


class FairLock:
    """Like `threading.RLock`, but first come, first served.

    A thread that lets go of an `RLock` and wants it back at once, as a search does at every position, may well get it
    back before those who wait have woken up. This one goes to whoever has waited longest.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()  # of all below; held for moments only
        self._owner: int | None = None
        self._depth = 0
        self._waiting: deque[tuple[int, threading.Lock]] = deque()

    @property
    def num_waiting(self) -> int:
        """How many threads wait for their turn."""
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
        except BaseException:  # interrupted: the turn must not be handed to a thread that has gone
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
        """Make the thread that has waited longest the owner. The guard is held."""
        self._owner, self._depth = None, 0
        if self._waiting:
            self._owner, turn = self._waiting.popleft()
            self._depth = 1
            turn.release()
