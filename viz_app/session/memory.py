"""Results of the last calls, shared by all sessions."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

V = TypeVar("V")


class Memory(Generic[V]):
    """The results of the last calls, shared between threads; the one used longest ago is forgotten first.

    Who asks for what another thread is computing waits for it. Unlike `st.cache_data` it lets a computation draw its
    progress on the page.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: OrderedDict[Hashable, V] = OrderedDict()
        self._lock = threading.Lock()
        self._computing: dict[Hashable, threading.Lock] = {}

    def get(self, key: Hashable, compute: Callable[[], V]) -> V:
        """What `compute` gave for this key; errors are not remembered."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
            computing = self._computing.setdefault(key, threading.Lock())
        with computing:
            with self._lock:
                if key in self._values:  # by the thread that was waited for
                    return self._values[key]
            try:
                value = compute()
            except BaseException:  # also Streamlit's, which ends a run: whoever waits computes it
                with self._lock:
                    self._computing.pop(key, None)
                raise
            with self._lock:
                self._computing.pop(key, None)
                self._values[key] = value
                while len(self._values) > self._size:
                    self._values.popitem(last=False)
        return value
