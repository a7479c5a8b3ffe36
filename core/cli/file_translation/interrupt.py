"""SIGINT and SIGTERM as an exception."""

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from core.files.console import StoppedError

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stop_on_signals() -> Generator[None]:
    """Raise `StoppedError` on SIGINT or SIGTERM inside the block."""
    if threading.current_thread() is not threading.main_thread():  # only that thread may set handlers
        yield
        return

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        raise StoppedError(f"stopped by {signal.Signals(number).name}", number)

    before = {number: signal.signal(number, stop) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
