"""SIGINT and SIGTERM as an exception."""

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class JobStoppedError(Exception):
    """SIGINT or SIGTERM was received; see `signal_number`."""

    def __init__(self, signal_number: int) -> None:
        super().__init__(f"stopped by {signal.Signals(signal_number).name}")
        self.signal_number = signal_number


@contextmanager
def stop_on_signals() -> Generator[None]:
    """Raise `JobStoppedError` on SIGINT or SIGTERM inside the block."""
    if threading.current_thread() is not threading.main_thread():  # only that thread may set handlers
        yield
        return

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        raise JobStoppedError(number)

    before = {number: signal.signal(number, stop) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
