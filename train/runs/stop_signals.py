"""Graceful stop on SIGINT and SIGTERM: the current step is finished and its state saved."""

import signal
import threading
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopRequest:
    """Context manager in which the first SIGINT or SIGTERM only sets `signal_number`; a second one acts as usual."""

    signal_number: int | None = None

    def __enter__(self) -> "StopRequest":
        # Only the main thread may set signal handlers.
        self._is_main_thread = threading.current_thread() is threading.main_thread()
        self._before = {number: signal.signal(number, self._note) for number in SIGNALS} if self._is_main_thread else {}
        return self

    def __exit__(self, *_: object) -> None:
        self._restore()

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.signal_number = number
        self._restore()

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
